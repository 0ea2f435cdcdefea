"""The form for one field of a client, contact or deal, with and without htmx. `test_cells.py` has the cells of lists."""

from decimal import Decimal

import pytest

from crm.clients.models import Client
from tests.support.factories import make_client, make_deal, make_field_definition
from tests.support.tables import table
from tests.support.team import main_text, record_path


@pytest.fixture
def client(acme):
    return make_client(acme.bob, "Northwind", email="office@northwind.example", phone="+48 123 456", tags=["vip"])


def edit(visitor, client, field: str):
    """Return the form for a field of the client."""
    return visitor.get(f"{record_path(client)}/edit", {"field": field}).forms["edit-field"]


def stored(client) -> Client:
    return Client.objects.get(account=client.account, id=client.id)


def test_it_works(acme, client):
    """Values of every type, an invalid one, and fields that cannot be edited."""
    make_field_definition(acme.account, "size", label="Size", type="choice", choices=["S", "XL"])
    visitor = acme.page(acme.bob)
    for field, value, name, expected in (
        ("city", "Warszawa", "city", "Warszawa"),
        ("discount", "12,5", "discount", Decimal("12.5")),
        ("company", "true", "company", True),
        ("tags", "new, vip", "tags", ["new", "vip"]),
        ("note", "two\r\nlines", "note", "two\nlines"),
        ("email", "", "email", None),
        ("additional_fields[size]", "XL", "additional_fields", {"size": "XL"}),
    ):
        form = edit(visitor, client, field)
        form["value"] = value
        page = form.submit(status=303).follow()
        assert (getattr(stored(client), name) or None) == expected
    assert "Size is saved." in main_text(page)
    assert "XL" in main_text(page)
    form = edit(visitor, client, "discount")
    form["value"] = "a lot"
    page = form.submit(status=422)
    assert page.html.select_one(".field-error").get_text().strip() == "Is not a number"
    assert page.forms["edit-field"]["value"].value == "a lot"
    for field in ("created_at", "nothing", "", "additional_fields[x]"):
        visitor.get(f"{record_path(client)}/edit", {"field": field}, status=404)


def test_a_large_number_is_edited_without_separators(acme, client):
    deal = make_deal(acme.bob, price="12500", client_id=client.id)
    visitor = acme.page(acme.bob)
    for value, expected in (("12500", 12500), ("12600", 12600), ("12600,5", Decimal("12600.5"))):
        form = visitor.get(f"/app/deals/{deal.id}/edit?field=price").forms["edit-field"]
        form["value"] = value
        page = form.submit(status=303).follow()
        deal.refresh_from_db()
        assert deal.price == expected
    assert "12,600.5" in main_text(page)
    assert visitor.get(f"/app/deals/{deal.id}/edit?field=price").forms["edit-field"]["value"].value == "12600.5"


PRICES = [
    ("1234.5", "EUR", "1,234.50"),
    ("12345", "JPY", "12,345"),
    ("1.234", "KWD", "1.234"),
    ("1.005", "EUR", "1.0050"),
]


def test_the_page_reads_back_what_it_shows(acme):
    visitor = acme.page(acme.bob)
    for price, currency, shown in PRICES:
        deal = make_deal(acme.bob, price=price, currency=currency)
        page = visitor.get(f"/app/deals/{deal.id}")
        assert page.html.select_one("#price .value").get_text(strip=True) == shown
        assert f"{shown} {currency}" in main_text(page)
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


@table(("language", "typed", "readings"), [("en", "1.500", "1500 1.5"), ("pl", "7,000", "7000 7")])
def test_a_number_with_two_readings_is_asked_about(acme, client, language, typed, readings):
    acme.account.users.filter(id=acme.bob.id).update(language=language)
    visitor = acme.page(acme.bob)
    for reading in readings.split():
        before = stored(client).discount
        form = edit(visitor, client, "discount")
        form["value"] = typed
        answer = form.submit(status=422).forms["edit-field"]
        assert stored(client).discount == before
        answer["value-meant"] = f"{typed}={reading}"
        answer.submit(status=303)
        assert stored(client).discount == Decimal(reading)


def test_a_conflict_shows_both_values(acme, client):
    form = edit(acme.page(acme.bob), client, "city")
    stored(client).write({"city": "Kraków"}, by=acme.alice)
    form["value"] = "Warszawa"
    page = form.submit(status=422)
    assert "changed this while you were editing" in main_text(page)
    assert page.html.select_one("[data-theirs]").get_text() == "Kraków"
    assert page.html.select_one("[data-mine]").get_text() == "Warszawa"
    assert stored(client).city == "Kraków"
    page.forms["edit-field"].submit(status=303)
    assert stored(client).city == "Warszawa"


def test_what_is_no_conflict(acme, client):
    """A change of another field, and equal values."""
    for change, updater in (({"country": "Poland"}, acme.bob), ({"city": "Gdynia"}, acme.alice)):
        form = edit(acme.page(acme.bob), client, "city")
        stored(client).write(change, by=acme.alice)
        form["value"] = change.get("city", "Warszawa")
        form.submit(status=303)
        assert (stored(client).city, stored(client).country) == (form["value"].value, "Poland")
        assert stored(client).updater_id == updater.id


def test_htmx_gets_the_field_alone(acme, client):
    visitor = acme.page(acme.bob)
    address = f"{record_path(client)}/edit?field=city"
    form = visitor.get(address, headers={"HX-Request": "true"})
    assert form.html.find("html") is None
    data = {name: fields[0].value for name, fields in form.forms[0].fields.items() if name} | {"value": "Warszawa"}
    answer = visitor.post(address, data, headers={"HX-Request": "true"})
    assert answer.html.select_one(".value").get_text().strip() == "Warszawa"
    assert stored(client).city == "Warszawa"


def edit_all(visitor, row):
    return visitor.get(f"{record_path(row)}/edit/all").forms["edit-record"]


def test_all_fields_in_one_form(acme, client):
    """Only what was changed is written, and a change of another field by somebody else stays."""
    make_field_definition(acme.account, "size", label="Size", type="choice", choices=["S", "XL"])
    make_field_definition(acme.account, "age", label="Age", type="choice", choices=["1"])
    stored(client).write({"additional_fields": {"age": "7"}}, by=acme.bob)
    visitor = acme.page(acme.bob)
    form = edit_all(visitor, client)
    # The value does not fit its field, and stays.
    assert "additional_fields[age]" not in form.fields
    stored(client).write({"country": "Poland"}, by=acme.alice)
    for name, value in (("street", "Main Street"), ("post_code", "00-950"), ("city", "Warszawa")):
        form[name] = value
    form["additional_fields[size]"], form["tags"] = "XL", "vip, new"
    assert "Northwind is saved." in main_text(form.submit("do", value="save", status=303).follow())
    row = stored(client)
    assert (row.street, row.post_code, row.city, row.country) == ("Main Street", "00-950", "Warszawa", "Poland")
    assert (row.additional_fields, row.tags) == ({"size": "XL", "age": "7"}, ["vip", "new"])
    updated_at = row.updated_at
    edit_all(visitor, client).submit("do", value="save", status=303)
    assert stored(client).updated_at == updated_at
    deal = make_deal(acme.bob, price="12500.5", client_id=client.id)
    form = edit_all(visitor, deal)
    form["price"], form["q"] = "100 PLN", "north"
    form = form.submit("do", value="find").forms["edit-record"]
    form["client_id"] = ""
    form.submit("do", value="save", status=303)
    deal.refresh_from_db()
    assert (deal.price, deal.currency, deal.client_id) == (100, "PLN", None)


def test_it_names_what_somebody_else_changed_in_the_form_of_all_fields(acme, client):
    visitor = acme.page(acme.bob)
    form = edit_all(visitor, client)
    stored(client).write({"city": "Kraków"}, by=acme.alice)
    form["city"], form["street"] = "Warszawa", "Main Street"
    page = form.submit("do", value="save", status=422)
    error = page.html.find(id="edit-city_error").get_text(strip=True)
    assert error == "Was changed to “Kraków” by alice in the meantime. Save again to use your value."
    assert (stored(client).city, stored(client).street) == ("Kraków", None)
    page.forms["edit-record"].submit("do", value="save", status=303)
    assert (stored(client).city, stored(client).street) == ("Warszawa", "Main Street")
    form = edit_all(visitor, client)
    form["name"], form["discount"], form["shown"] = "", "a lot", "[]"
    page = form.submit("do", value="save", status=422)
    assert page.html.find(id="edit-name_error")
    assert page.html.find(id="edit-discount_error")
