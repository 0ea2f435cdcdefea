"""The texts in rows of lists and on cards of the board are escaped."""

import pytest

from tests.support.factories import make_client, make_deal

HTMX = {"HX-Request": "true"}
SCRIPT = "<script>alert('a')</script>"


def texts_of(page, selector: str) -> list[str]:
    return [" ".join(element.get_text().split()) for element in page.html.select(selector)]


def assert_escaped(page) -> None:
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;alert" in page.text


@pytest.fixture
def client(acme):
    acme.bob.name = SCRIPT
    acme.bob.save()
    return make_client(acme.bob, SCRIPT, city=SCRIPT, tags=[SCRIPT], responsible_id=acme.bob.id)


def test_it_works(acme, client):
    page = acme.page(acme.bob).get("/app/clients?columns=city,tags,responsible_id")
    assert_escaped(page)
    assert texts_of(page, "[data-row] th a") == [SCRIPT]
    assert texts_of(page, "[data-row] td bdi") == [SCRIPT, SCRIPT]
    assert texts_of(page, "[data-row] .chip") == [SCRIPT]
    assert page.html.select_one("[data-row] input")["aria-label"] == f"Select {SCRIPT}"


def test_a_changed_cell_is_escaped(acme, client):
    bob, path = acme.page(acme.bob), f"/app/clients/{client.id}/edit?field=city&cell=1"
    form = bob.get(path, headers=HTMX).forms[0]
    data = {name: fields[0].value for name, fields in form.fields.items() if name}
    assert_escaped(bob.post(path, data | {"value": SCRIPT + SCRIPT}, headers=HTMX))


def test_cards_are_escaped(acme, client):
    make_deal(acme.bob, SCRIPT, client_id=client.id, responsible_id=acme.bob.id, price="1", currency="EUR")
    page = acme.page(acme.bob).get("/app/deals/board")
    assert_escaped(page)
    assert texts_of(page, ".deal-card h3 a") == [SCRIPT]
    assert texts_of(page, ".deal-card bdi") == [SCRIPT]
    assert page.html.select_one(".deal-card .avatar")["title"] == SCRIPT
