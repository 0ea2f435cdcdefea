"""Values that pages ask about, and that the interface accepts."""

import pytest

from crm.clients.mistypings import country_code, doubts_of, looks_like_email, looks_like_tax_number
from tests.support.factories import make_client
from tests.support.tables import table

pytestmark = pytest.mark.django_db

FORM, ROUTE = "new-record", "/app/clients/new"


@table(
    ("email", "expected"),
    [
        ("ann@example.com", True),
        ("ann@żółw.pl", True),
        ("ann@xn--w-uga1v8h.pl", True),
        ("ann.o'neil+shop@mail.example.co.uk", True),
        ("not-an-email", False),
        ("ann@example,com", False),
        ("ann@example", False),
        ("ann@localhost", False),
        ("Ann <ann@example.com>", False),
        ("ann@example.com; bob@example.com", False),
        ("ann @example.com", False),
    ],
)
def test_emails(email, expected):
    assert looks_like_email(email) == expected


@table(
    ("number", "country", "expected"),
    [
        ("5260001246", "pl", True),
        ("526-000-12-46", "pl", True),
        ("PL 526 000 12 46", "pl", True),
        ("5260001247", "pl", False),
        ("52600012", "pl", False),
        # A number with the prefix of another country.
        ("DE136695976", "pl", True),
        ("DE136695975", "pl", False),
        ("EL094259216", "pl", True),
        ("136695976", "de", True),
        ("136695975", "de", False),
        # The number of a person instead of a company.
        ("44051401359", "pl", True),
        # Countries without rules, and an unknown one.
        ("12 34", "aq", True),
        ("12 34", "", True),
        ("12 34", "Kraj", True),
    ],
)
def test_tax_numbers(number, country, expected):
    assert looks_like_tax_number(number, country) == expected


@table(("name", "code"), [("PL", "pl"), ("pl", "pl"), ("Polska", "pl"), ("poland", "pl"), ("Narnia", ""), (None, "")])
def test_countries(name, code):
    assert country_code(name) == code


def test_the_country_is_that_of_the_client_or_of_the_account(acme):
    values = {"tax_no": "136695976"}
    acme.account.time_zone = "Europe/Warsaw"
    assert [name for name, _question in doubts_of(values, acme.account)] == ["tax_no"]
    assert list(doubts_of(values, acme.account, "Germany")) == []
    acme.account.time_zone = "UTC"
    assert list(doubts_of(values, acme.account)) == []


@table(
    ("name", "wrong", "right"),
    [
        ("email", "ann@example,com", "ann@example.com"),
        ("tax_no", "PL5260001247", "PL5260001246"),
    ],
)
def test_a_new_client_is_asked_about(acme, name, wrong, right):
    page = acme.page(acme.bob)
    form = page.get(ROUTE).forms[FORM]
    form["name"], form[name] = "Ann", wrong
    response = form.submit("do", value="save", status=422)
    assert "save again to keep it" in response.html.get_text()
    assert not acme.account.clients.exists()
    # Another wrong value is another question.
    again = response.forms[FORM]
    again[name] = f"{wrong},"
    assert again.submit("do", value="save", status=422).forms[FORM][name].value == f"{wrong},"
    again[name] = wrong
    again.submit("do", value="save", status=303)
    assert acme.account.clients.values_list(name, flat=True).get() == wrong
    # The right value needs no answer.
    form[name] = right
    assert "sent this form before" in form.submit("do", value="save", status=409)


def test_an_edited_field_is_asked_about(acme):
    client = make_client(acme.bob, "Ann", country="Germany")
    page = acme.page(acme.bob)
    form = page.get(f"/app/clients/{client.id}/edit?field=tax_no").forms["edit-field"]
    form["value"] = "136695975"
    response = form.submit(status=422)
    assert "Save anyway" in response
    response.forms["edit-field"].submit(status=303)
    client.refresh_from_db()
    assert client.tax_no == "136695975"
