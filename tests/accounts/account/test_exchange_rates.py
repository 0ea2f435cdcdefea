"""The exchange rates of an account: the page, the field of the Account API, the rates of the European Central Bank, and conversions."""

from datetime import date
from decimal import Decimal

import pytest

from accounts.account import exchange_rates
from accounts.account.exchange_rates import ConvertedSum, change_base, read_euro_rates
from accounts.account.jobs import take_euro_rates
from core import outbound
from tests.support.assertions import assert_refused, read
from tests.support.settings import send, texts
from tests.support.team import main_text

PATH = "/app/account/rates"
DAILY_FILE = b"""<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
<gesmes:subject>Reference rates</gesmes:subject><Cube><Cube time='2026-11-26'>
<Cube currency='USD' rate='1.25'/><Cube currency='PLN' rate='4.0'/><Cube currency='IDR' rate='20000'/>
</Cube></Cube></gesmes:Envelope>"""


@pytest.fixture
def bank(monkeypatch):
    """Answers the requests for the daily file with `answer`: a body, or an error."""
    bank = {"answer": DAILY_FILE, "requests": 0}

    async def fetch(method: str, url: str, **options: object) -> outbound.Response:
        assert (method, url) == ("GET", exchange_rates.EURO_RATES_URL)
        bank["requests"] += 1
        if isinstance(bank["answer"], Exception):
            raise bank["answer"]
        return outbound.Response(200, {}, bank["answer"])

    monkeypatch.setattr(outbound, "fetch", fetch)
    return bank


def rates_of(account) -> tuple[dict[str, str], bool, date | None]:
    account.refresh_from_db()
    return account.exchange_rates, account.takes_euro_rates, account.exchange_rates_on


def test_it_works(acme):
    alice = acme.page(acme.alice)
    form = alice.get(PATH).forms["rates"]
    form["currency"], form["rate"] = "PLN", "0.2351"
    page = form.submit("do").follow()
    form = page.forms["rates"]
    assert form["PLN"].value == "0.2351"
    form["currency"], form["rate"], form["PLN"] = "USD", "0.9", "0.24"
    page = form.submit("do").follow()
    assert rates_of(acme.account) == ({"PLN": "0.24", "USD": "0.9"}, False, None)
    form = page.forms["rates"]
    form["PLN"] = ""
    form.submit("do")
    assert rates_of(acme.account)[0] == {"USD": "0.9"}


def test_it_rejects_invalid_rates(acme):
    acme.account.change(exchange_rates={"PLN": "0.24"})
    for values, error in (
        ({"PLN": "x"}, "Is not a number"),
        ({"PLN": "0.24", "currency": "USD"}, "Can't be blank"),
        ({"PLN": "0.24", "rate": "2"}, "Can't be blank"),
        (
            {"PLN": "0.24", "currency": "EUR", "rate": "2"},
            "Select a valid choice. EUR is not one of the available choices.",
        ),
        (
            {"PLN": "-1"},
            "Exchange rates has a rate of PLN that is not a number above 0, of at most 9 digits and 10 decimal places",
        ),
    ):
        response = send(acme.page(acme.alice), PATH, status=422, do="save", **values)
        shown = texts(response, ".field .field-error") or texts(response, ".notice.error li, .notice.error p")
        assert error in shown, (values, shown)
    assert rates_of(acme.account)[0] == {"PLN": "0.24"}


def test_the_account_api_sets_the_rates(acme):
    client = acme.json(acme.alice_token)
    body = read(
        client.put("/app/account.json", json={"account": {"exchange_rates": {"USD": 0.9, "PLN": "0.240", "EUR": 7}}})
    )
    assert body["exchange_rates"] == {"PLN": "0.24", "USD": "0.9"}
    for rates, text in (
        ({"usd": 1}, "has usd, which is not a code of ISO 4217, such as EUR"),
        *(
            (
                {"USD": value},
                "has a rate of USD that is not a number above 0, of at most 9 digits and 10 decimal places",
            )
            for value in (0, -1, "x", True, None, "1e9", "0.00000000001", "NaN", [1])
        ),
        ([1], "must be an object of currencies and rates"),
    ):
        response = client.put("/app/account.json", json={"account": {"exchange_rates": rates}})
        assert_refused(response, 422, "validation_failed", {"exchange_rates": [text]})
    assert acme.json().put("/app/account.json", json={"account": {"exchange_rates": {}}}).status_code == 403


def test_the_rates_of_the_european_central_bank(acme, bank):
    acme.account.change(currency="PLN")
    page = acme.page(acme.alice).get(PATH).forms["take"].submit("do").follow()
    assert "The rates of Nov. 26, 2026 are saved." in page
    rates = {"EUR": "4", "IDR": "0.0002", "USD": "3.2"}
    assert rates_of(acme.account) == (rates, True, date(2026, 11, 26))
    # The job replaces them, once for each day.
    bank["answer"] = DAILY_FILE.replace(b"2026-11-26", b"2026-11-27").replace(b"1.25", b"1.6")
    take_euro_rates.function()
    take_euro_rates.function()
    assert rates_of(acme.account) == (rates | {"USD": "2.5"}, True, date(2026, 11, 27))
    # Rates that an admin enters stay.
    acme.account.change(exchange_rates={"USD": "3"})
    requests = bank["requests"]
    take_euro_rates.function()
    assert (rates_of(acme.account), bank["requests"]) == (({"USD": "3"}, False, None), requests)


def test_rates_that_cannot_be_read_change_nothing(acme, bank, caplog):
    acme.account.change(exchange_rates={"USD": "3"}, takes_euro_rates=True)
    for answer in (
        b"",
        b"<html>",
        b"<!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>",
        DAILY_FILE.replace(b"1.25", b"0"),
        DAILY_FILE.replace(b"1.25", b"NaN"),
        DAILY_FILE.replace(b"2026-11-26", b"today"),
        outbound.OutboundError("connect"),
    ):
        bank["answer"] = answer
        take_euro_rates.function()
        page = acme.page(acme.alice).get(PATH).forms["take"].submit("do").follow()
        assert "can't be read now" in main_text(page)
    assert rates_of(acme.account) == ({"USD": "3"}, True, None)
    # A currency without a published rate.
    bank["answer"] = DAILY_FILE
    acme.account.change(currency="XAU")
    acme.account.change(takes_euro_rates=True)
    take_euro_rates.function()
    page = acme.page(acme.alice).get(PATH).forms["take"].submit("do").follow()
    assert "are not published for XAU" in main_text(page)


def test_a_new_currency_of_the_account_changes_the_rates(acme):
    acme.account.change(exchange_rates={"PLN": "0.25", "USD": "0.8"})
    acme.account.change(currency="USD")
    assert rates_of(acme.account)[0] == {"EUR": "1.25", "PLN": "0.3125"}
    acme.account.change(currency="CHF")
    assert rates_of(acme.account)[0] == {}
    assert change_base({"IDR": "0.00005"}, "EUR", "IDR") == {"EUR": "20000"}


def test_sums_are_converted(acme):
    acme.account.change(exchange_rates={"PLN": "0.25", "USD": "0.8"})
    amounts = [("EUR", Decimal(10)), ("PLN", Decimal(4)), ("CHF", Decimal(5)), ("CZK", Decimal(0))]
    assert acme.account.convert(amounts) == ConvertedSum(Decimal(11), ("CHF",), ("PLN",))
    assert read_euro_rates(DAILY_FILE)[1]["USD"] == Decimal("0.8")
