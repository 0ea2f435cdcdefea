"""Editing in the cells of lists, with htmx, and with a page of its own without JavaScript."""

import pytest

from crm.clients.models import Client
from tests.support.factories import make_client, make_deal
from tests.support.tables import table

HTMX = {"HX-Request": "true"}


@pytest.fixture
def client(acme) -> Client:
    return make_client(acme.bob, "Adler", city="Gdynia", tags=["vip"], responsible_id=acme.bob.id)


def stored(client: Client) -> Client:
    return Client.objects.get(account=client.account, id=client.id)


def data_of(page, **changes: str) -> dict[str, str]:
    form = page.forms[0]
    return {name: fields[0].value for name, fields in form.fields.items() if name} | changes


def path_of(client: Client, field: str) -> str:
    return f"/app/clients/{client.id}/edit?field={field}&cell=1"


def test_it_works(acme, client):
    bob = acme.page(acme.bob)
    link = bob.get("/app/clients?columns=city").html.select_one("td a.change")
    assert (link["href"], link["aria-label"]) == (f"/app/clients/{client.id}/edit?field=city", "Change: City")
    form = bob.get(path_of(client, "city"), headers=HTMX)
    assert [element.name for element in form.html.find_all(recursive=False)] == ["td"]
    cell = bob.post(path_of(client, "city"), data_of(form, value="Warszawa"), headers=HTMX).html.select_one("td")
    assert cell.select_one("bdi").get_text() == "Warszawa"
    assert cell.select_one("a.change")["data-focus"] == ""
    assert stored(client).city == "Warszawa"
    # A form that is closed shows the stored value.
    stored(client).write({"city": "Kraków"}, by=acme.alice)
    cell = bob.get(f"{path_of(client, 'city')}&cancel=1", headers=HTMX)
    assert cell.html.select_one("td bdi").get_text() == "Kraków"
    # An invalid value.
    form = bob.get(path_of(client, "discount"), headers=HTMX)
    answer = bob.post(path_of(client, "discount"), data_of(form, value="a lot"), headers=HTMX, status=422)
    assert answer.html.select_one("td.editing .field-error")


@table(("field", "value", "text"), [("responsible_id", "", ""), ("tags", "vip, new", "vip new"), ("city", "", "")])
def test_the_cell_shows_the_value_as_the_list_does(acme, client, field, value, text):
    bob = acme.page(acme.bob)
    form = bob.get(path_of(client, field), headers=HTMX)
    cell = bob.post(path_of(client, field), data_of(form, value=value), headers=HTMX).html.select_one("td")
    assert " ".join(cell.get_text(" ").split()) == text
    assert cell.has_attr("class") == (text == "")


def test_an_amount_has_its_currency(acme):
    deal = make_deal(acme.bob, "Roof", price="10")
    bob, path = acme.page(acme.bob), f"/app/deals/{deal.id}/edit?field=price&cell=1"
    cell = bob.post(path, data_of(bob.get(path, headers=HTMX), value="1 234,5"), headers=HTMX).html
    assert cell.select_one(".amount bdi").get_text() == "1,234.50 EUR"


def test_a_conflict_shows_both_values(acme, client):
    bob = acme.page(acme.bob)
    form = bob.get(path_of(client, "city"), headers=HTMX)
    stored(client).write({"city": "Kraków"}, by=acme.alice)
    answer = bob.post(path_of(client, "city"), data_of(form, value="Warszawa"), headers=HTMX, status=422)
    assert answer.html.select_one("td [data-theirs]").get_text() == "Kraków"
    assert stored(client).city == "Kraków"
    bob.post(path_of(client, "city"), data_of(answer), headers=HTMX)
    assert stored(client).city == "Warszawa"


def test_without_javascript_the_form_returns_to_the_list(acme, client):
    bob = acme.page(acme.bob)
    page = bob.get("/app/clients?columns=city&sort=name")
    address = page.html.select_one("td a.change")["href"]
    form = bob.get(address, headers={"Referer": page.request.url}).forms["edit-field"]
    form["value"] = "Warszawa"
    answer = form.submit().follow()
    assert answer.request.path_qs == "/app/clients?columns=city&sort=name"
    assert "City is saved." in answer
    for target in ("https://evil.example/", "//evil.example/", ""):
        form = bob.get(address).forms["edit-field"]
        form["next"], form["value"] = target, "Gdynia"
        assert form.submit().headers["Location"] == f"/app/clients/{client.id}"


def test_an_agent_who_gives_a_record_away_returns_to_the_list(acme, client):
    acme.account.change(agents_see="own")
    bob = acme.page(acme.bob)
    form = bob.get(path_of(client, "responsible_id"), headers=HTMX)
    data = data_of(form, value=str(acme.alice.id))
    answer = bob.post(path_of(client, "responsible_id"), data, headers=HTMX)
    assert answer.headers["HX-Redirect"] == "/app/clients"
    assert "Adler is saved. You do not see it any more." in bob.get("/app/clients")
    assert stored(client).responsible_id == acme.alice.id
