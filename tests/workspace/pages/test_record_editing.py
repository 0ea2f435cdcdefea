"""The form for one field of a client, contact or deal, with and without htmx. `test_cells.py` has the cells of lists."""

from decimal import Decimal

import pytest

from crm.models import Client
from tests.support.factories import make_client, make_deal
from tests.support.tables import table


@pytest.fixture
def client(acme):
    return make_client(acme.bob, "Northwind", email="office@northwind.example", phone="+48 123 456", tags=["vip"])


def path_of(client) -> str:
    return f"/app/clients/{client.id}"


def texts(page) -> str:
    return " ".join(page.html.find("main").get_text(" ").split())


def edit(visitor, client, field: str):
    """Return the form for a field of the client."""
    return visitor.get(f"{path_of(client)}/edit", {"field": field}).forms["edit-field"]


def stored(client) -> Client:
    return Client.objects.get(account=client.account, id=client.id)


def test_it_works(acme, client):
    form = edit(acme.page(acme.bob), client, "city")
    form["value"] = "Warszawa"
    page = form.submit(status=303).follow()
    assert "City is saved." in texts(page)
    assert stored(client).city == "Warszawa"


@table(
    ("field", "value", "expected"),
    [
        ("discount", "12,5", "12.5"),
        ("company", "true", "True"),
        ("tags", "new, vip", "['new', 'vip']"),
        ("note", "two\r\nlines", "two\nlines"),
        ("email", "", "None"),
    ],
)
def test_values_of_every_type(acme, client, field, value, expected):
    form = edit(acme.page(acme.bob), client, field)
    form["value"] = value
    form.submit(status=303)
    result = getattr(stored(client), field)
    assert str(result.normalize() if field == "discount" else result or None) == expected


def test_a_large_number_is_edited_without_separators(acme, client):
    deal = make_deal(acme.bob, price="12500", client_id=client.id)
    visitor = acme.page(acme.bob)
    for value, expected in (("12500", 12500), ("12600", 12600), ("12600,5", Decimal("12600.5"))):
        form = visitor.get(f"/app/deals/{deal.id}/edit?field=price").forms["edit-field"]
        form["value"] = value
        page = form.submit(status=303).follow()
        deal.refresh_from_db()
        assert deal.price == expected
    assert "12,600.5" in texts(page)
    assert visitor.get(f"/app/deals/{deal.id}/edit?field=price").forms["edit-field"]["value"].value == "12600.5"


@table(
    ("price", "currency", "shown"),
    [("1234.5", "EUR", "1,234.50"), ("12345", "JPY", "12,345"), ("1.234", "KWD", "1.234"), ("1.005", "EUR", "1.0050")],
)
def test_the_page_reads_back_what_it_shows(acme, price, currency, shown):
    deal = make_deal(acme.bob, price=price, currency=currency)
    visitor = acme.page(acme.bob)
    page = visitor.get(f"/app/deals/{deal.id}")
    assert page.html.select_one("#price .value").get_text(strip=True) == shown
    assert f"{shown} {currency}" in texts(page)
    for typed in (shown, f"{shown} {currency}", None):
        form = visitor.get(f"/app/deals/{deal.id}/edit?field=price").forms["edit-field"]
        form["value"] = form["value"].value if typed is None else typed
        form.submit(status=303)
        deal.refresh_from_db()
        assert (deal.price, deal.currency) == (Decimal(price), currency)


def test_a_typed_currency_is_that_of_the_deal(acme):
    deal = make_deal(acme.bob, price="100", currency="CAD")
    visitor = acme.page(acme.bob)
    for typed, expected in (("$ 100", "CAD"), ("1 234,50 zł", "PLN"), ("1234.50", "PLN"), ("1234.50 EUR", "EUR")):
        form = visitor.get(f"/app/deals/{deal.id}/edit?field=price").forms["edit-field"]
        form["value"] = typed
        form.submit(status=303)
        deal.refresh_from_db()
        assert deal.currency == expected
    assert deal.price == Decimal("1234.5")


@pytest.mark.parametrize(("language", "typed", "readings"), [("en", "1.500", "1500 1.5"), ("pl", "7,000", "7000 7")])
def test_a_number_with_two_readings_is_asked_about(acme, client, language, typed, readings):
    acme.account.users.filter(id=acme.bob.id).update(language=language)
    visitor = acme.page(acme.bob)
    form = edit(visitor, client, "discount")
    form["value"] = typed
    page = form.submit(status=422)
    assert stored(client).discount is None
    for reading in readings.split():
        answer = page.forms["edit-field"]
        answer["value-meant"] = f"{typed}={reading}"
        answer.submit(status=303)
        assert stored(client).discount == Decimal(reading)
        page = visitor.get(f"{path_of(client)}/edit", {"field": "discount"})
        page = submit_again(page.forms["edit-field"], typed)


def submit_again(form, typed):
    form["value"] = typed
    return form.submit(status=422)


def test_a_defined_field(acme, client):
    definition = acme.account.field_definitions.model(account=acme.account, resource="client", key="size", label="Size")
    definition.write({"type": "choice", "choices": ["S", "XL"]})
    form = edit(acme.page(acme.bob), client, "additional_fields[size]")
    form["value"] = "XL"
    assert "XL" in texts(form.submit(status=303).follow())
    assert stored(client).additional_fields == {"size": "XL"}


def test_it_rejects_an_invalid_value(acme, client):
    form = edit(acme.page(acme.bob), client, "discount")
    form["value"] = "a lot"
    page = form.submit(status=422)
    assert page.html.select_one(".field-error").get_text().strip() == "Is not a number"
    assert page.forms["edit-field"]["value"].value == "a lot"


def test_a_conflict_shows_both_values(acme, client):
    form = edit(acme.page(acme.bob), client, "city")
    stored(client).write({"city": "Kraków"}, by=acme.alice)
    form["value"] = "Warszawa"
    page = form.submit(status=422)
    assert "changed this while you were editing" in texts(page)
    assert page.html.select_one("[data-theirs]").get_text() == "Kraków"
    assert page.html.select_one("[data-mine]").get_text() == "Warszawa"
    assert stored(client).city == "Kraków"
    page.forms["edit-field"].submit(status=303)
    assert stored(client).city == "Warszawa"


def test_equal_values_are_no_conflict(acme, client):
    form = edit(acme.page(acme.bob), client, "city")
    stored(client).write({"city": "Warszawa"}, by=acme.alice)
    form["value"] = "Warszawa"
    form.submit(status=303)
    assert stored(client).updater_id == acme.alice.id


def test_a_change_of_another_field_is_no_conflict(acme, client):
    form = edit(acme.page(acme.bob), client, "city")
    stored(client).write({"country": "Poland"}, by=acme.alice)
    form["value"] = "Warszawa"
    form.submit(status=303)
    assert (stored(client).city, stored(client).country) == ("Warszawa", "Poland")


@table("field", ["created_at", "nothing", "", "additional_fields[x]"])
def test_it_rejects_a_field_that_cannot_be_edited(acme, client, field):
    acme.page(acme.bob).get(f"{path_of(client)}/edit", {"field": field}, status=404)


def test_htmx_gets_the_field_alone(acme, client):
    visitor = acme.page(acme.bob)
    address = f"{path_of(client)}/edit?field=city"
    form = visitor.get(address, headers={"HX-Request": "true"})
    assert form.html.find("html") is None
    data = {name: fields[0].value for name, fields in form.forms[0].fields.items() if name} | {"value": "Warszawa"}
    answer = visitor.post(address, data, headers={"HX-Request": "true"})
    assert answer.html.select_one(".value").get_text().strip() == "Warszawa"
    assert stored(client).city == "Warszawa"
