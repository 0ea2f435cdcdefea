"""The sums of the amounts in a list: in the foot of its table, and in the Account API."""

from decimal import Decimal

import pytest

from accounts.users.models import User
from crm.deals.models import Deal
from team.lists.pages import list as list_page
from tests.support.assertions import read
from tests.support.factories import make_client, make_deal, make_field_definition
from tests.support.reading import statements

PATH = "/app/deals"


def sums(page) -> dict[str, str]:
    cells = page.html.select("tfoot td[data-label]")
    return {cell["data-label"]: " ".join(cell.get_text(" ").split()) for cell in cells}


@pytest.fixture
def deals(acme):
    make_field_definition(acme.account, "fee", resource="deal", label="Fee", type="money")
    make_field_definition(acme.account, "credit", resource="client", label="Credit", type="money")
    adler = make_client(acme.bob, "Adler", additional_fields={"credit": 1000})
    brandt = make_client(acme.alice, "Brandt", additional_fields={"credit": "500.5"})
    for name, price, currency, client, values in (
        ("Roof", "1234.5", "EUR", adler, {"additional_fields": {"fee": 10}}),
        ("Wall", "100", "PLN", adler, {"additional_fields": {"fee": "2.25"}, "responsible_id": acme.bob.id}),
        ("Door", "50", "CHF", brandt, {"additional_fields": {"fee": "much"}}),
        ("Gate", None, "EUR", brandt, {}),
    ):
        make_deal(acme.bob, name, price=price, currency=currency, client_id=client.id, **values)
    acme.account.change(exchange_rates={"PLN": "0.25"})


def test_it_works(acme, deals):
    bob = acme.page(acme.bob)
    page = bob.get(f"{PATH}?columns=price,additional_fields[fee],client_id")
    assert sums(page) == {
        "Amount": "1,234.50 EUR 50.00 CHF 100.00 PLN ≈ 1,259.50 EUR without CHF",
        "Fee": "12.25 EUR",
    }
    assert "Exchange rates" not in page.html.find("tfoot").get_text()
    assert sums(bob.get(f"{PATH}?price__after=60"))["Amount"] == "1,234.50 EUR 100.00 PLN ≈ 1,259.50 EUR"
    assert sums(bob.get(f"{PATH}?q=roof"))["Amount"] == "1,234.50 EUR"
    assert sums(bob.get(f"{PATH}?or1.name=roof&or2.name=wall&columns=price"))["Amount"].endswith("≈ 1,259.50 EUR")
    assert bob.get(f"{PATH}?columns=client_id").html.find("tfoot") is None
    assert len(statements(bob, f"{PATH}?columns=price,additional_fields[fee]&q=roof")) <= 12
    assert "Exchange rates" in acme.page(acme.alice).get(PATH).html.find("tfoot").get_text()


def test_the_sums_of_clients(acme, deals):
    page = acme.page(acme.bob).get("/app/clients?columns=open_sum,won_sum,additional_fields[credit]")
    assert sums(page) == {
        "Open deals": "1,234.50 EUR 50.00 CHF 100.00 PLN ≈ 1,259.50 EUR without CHF",
        "Won deals": "",
        "Credit": "1,500.50 EUR",
    }
    page = acme.page(acme.bob).get("/app/clients?name=brandt")
    assert sums(page)["Open deals"] == "50.00 CHF"
    # An agent sees the sums of their own deals and clients.
    acme.account.change(agents_see="own")
    Deal.objects.filter(account=acme.account, name="Roof").update(responsible_id=acme.alice.id)
    acme.account.clients.update(responsible_id=acme.bob.id)
    page = acme.page(acme.bob).get("/app/clients?columns=open_sum")
    assert sums(page)["Open deals"] == "100.00 PLN ≈ 25.00 EUR"


def test_a_long_list_loads_its_sums_after_the_page(acme, deals, monkeypatch):
    monkeypatch.setattr(list_page, "MAX_COUNT", 2)
    monkeypatch.setattr("team.list_queries.queries.MAX_COUNT", 2)
    bob = acme.page(acme.bob)
    page = bob.get(f"{PATH}?columns=price")
    foot = page.html.find("tfoot")
    assert (sums(page), foot["hx-get"]) == ({"Amount": "Add up"}, "?columns=price&sums=1")
    full = "1,234.50 EUR 50.00 CHF 100.00 PLN ≈ 1,259.50 EUR without CHF"
    assert sums(page.click("Add up")) == {"Amount": full}
    fragment = bob.get(f"{PATH}?columns=price&sums=1", headers={"HX-Request": "true"})
    assert sums(fragment) == {"Amount": full}
    assert fragment.html.find("tbody") is None
    # Sums that take too long are left out.
    monkeypatch.setattr("core.search.queries.TIME_LIMIT_MS", 1)
    monkeypatch.setattr("team.list_queries.sums.totals", lambda *args, **kwargs: sleep_in_database())
    page = bob.get(f"{PATH}?columns=price&sums=1", headers={"HX-Request": "true"})
    assert sums(page) == {"Amount": "More than can be added up: add a filter"}
    response = acme.json().get(f"{PATH}/sums.json")
    assert (response.status_code, list(response.json()["errors"])) == (422, ["sums"])


def sleep_in_database() -> list[dict[str, object]]:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(1)")
    return []


def test_the_account_api_has_the_sums(acme, deals):
    price = {
        "amounts": [{"currency": "EUR", "sum": Decimal("1234.5")}, {"currency": "PLN", "sum": 100}],
        "converted": {"currency": "EUR", "sum": Decimal("1259.5"), "missing": []},
    }
    fee = {
        "amounts": [{"currency": "EUR", "sum": Decimal("12.25")}],
        "converted": {"currency": "EUR", "sum": Decimal("12.25"), "missing": []},
    }
    response = acme.json().get(f"{PATH}/sums.json?price__after=60&page=2")
    assert read(response) == {"price": price, "additional_fields[fee]": fee}
    assert response.headers["x-ignored-parameters"] == "page"
    found = read(acme.json().get("/app/clients/sums.json?or1.name=adler&or2.name=brandt"))
    assert found["open_sum"]["converted"] == {"currency": "EUR", "sum": Decimal("1259.5"), "missing": ["CHF"]}
    assert found["won_sum"] == {"amounts": [], "converted": {"currency": "EUR", "sum": 0, "missing": []}}
    acme.account.change(agents_see="own")
    assert read(acme.json().get(f"{PATH}/sums.json"))["price"]["amounts"] == [{"currency": "PLN", "sum": 100}]
    assert User.objects.get(pk=acme.bob.pk).access.is_limited


def test_it_rejects_wrong_conditions(acme):
    for query, field in (("price__after=x", "price__after"), ("view=1", "view"), ("sort=cities", "sort")):
        response = acme.json().get(f"{PATH}/sums.json?{query}")
        assert (response.status_code, list(response.json()["errors"])) == (422, [field])
