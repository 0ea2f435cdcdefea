"""Deals: create, read, update and delete, and the clients inside deals. `test_clients.py` has the shared rules."""

from datetime import date
from decimal import Decimal

from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import client_body, deal_body
from tests.support.factories import make_client, make_contact, make_deal
from tests.support.tables import table


def post(acme, **fields):
    return acme.json().post("/app/deals.json", json={"deal": fields})


def put(acme, deal, **fields):
    return acme.json().put(f"/app/deals/{deal.id}.json", json={"deal": fields})


def test_it_works(acme):
    """Create a deal with all fields, read, update and delete it. Its client stays."""
    client, json = make_client(acme.alice), acme.json()
    status = acme.account.statuses.get(kind="deal", code="qualified")
    fields = {
        "name": "Deal 😀",
        "description": "of\nmany",
        "price": Decimal("19.99"),
        "client_id": client.id,
        "external_ids": {"order": "2009/1"},
        "currency": "PLN",
        "status_id": status.id,
        "responsible_id": acme.alice.id,
        "url": "https://shop.example/orders/1",
        "origin": "shop",
        "expected_close_date": "2009-02-28",
        "tags": ["big"],
    }
    response = post(acme, **{**fields, "price": 19.99, "currency": "\u00a0pln\u200b"})
    deal = acme.account.deals.get()
    assert deal.expected_close_date == date(2009, 2, 28)
    body, path = deal_body(deal, acme.bob, **fields), f"/app/deals/{deal.id}.json"
    assert_answered(response, 201, body, location=f"http://acme.example.test{path}")
    assert_answered(json.get(path), 200, body)

    fields |= {"price": None, "client_id": None, "expected_close_date": None, "origin": None}
    # A deal always has a currency, so a null is ignored.
    response = put(acme, deal, price=" ", client_id="", currency=None, expected_close_date="", origin=None)
    deal.refresh_from_db()
    body = deal_body(deal, acme.bob, **fields)
    assert_answered(response, 200, body)
    assert_answered(json.get(path), 200, body)

    assert_answered(json.delete(path), 200, "ok")
    for method in ("GET", "PUT", "DELETE"):
        for id in (deal.id, client.id, 10**15):
            response = json.request(method, f"/app/deals/{id}.json", json={"deal": {"name": "a"}})
            assert_refused(response, 404, "not_found")
    assert json.get(f"/app/clients/{client.id}.json").status_code == 200


def test_it_rejects_every_error_at_once(acme):
    post_status = acme.account.statuses.get(kind="post", code="new")
    fields = {
        "description": "a" * 65_537,
        "price": "much",
        "client_id": 10**15,
        "external_ids": {"a b": "1"},
        "currency": "euro",
        "status_id": post_status.id,
        "responsible_id": acme.carol.id,
        "expected_close_date": "soon",
        "tags": [None],
    }
    errors = {
        "name": ["can't be blank"],
        "description": ["is too long (maximum is 65536 characters)"],
        "price": ["is not a number"],
        "client_id": ["can't be found"],
        "external_ids": ["key a b is not made of 1-64 letters, digits, _, . and -"],
        "currency": ["is not a code of ISO 4217, such as EUR"],
        "status_id": ["can't be found"],
        "responsible_id": ["can't be found"],
        "expected_close_date": ["is not a date (ISO 8601, such as 2009-01-26)"],
        "tags": ["must be a list of names, or one text with commas"],
    }
    assert_refused(post(acme, **fields), 422, "validation_failed", errors)
    assert not acme.account.deals.exists()
    deal = make_deal(acme.bob)
    for body in ({}, {"deal": None}):
        for method, path in (("POST", "/app/deals.json"), ("PUT", f"/app/deals/{deal.id}.json")):
            response = acme.json().request(method, path, json=body)
            assert_refused(response, 422, "validation_failed", {"deal": ["can't be blank"]})
    for name in ("", "  ", None):
        assert_refused(put(acme, deal, name=name), 422, "validation_failed", {"name": ["can't be blank"]})


def test_the_currency_defaults_to_that_of_the_account(acme):
    acme.account.change(currency="PLN")
    for fields in ({}, {"currency": None}, {"currency": " "}):
        assert read(post(acme, name="a", **fields))["currency"] == "PLN"


# Nested clients


def post_deal_with_client(acme, client, **fields):
    return post(acme, name="a", client=client, **fields)


def test_a_nested_client_is_created_or_found_by_one_of_its_external_ids(acme):
    client_fields = {"name": "Ann", "email": "ann@example.net", "note": "n", "external_ids": {"shop_id": "17"}}
    response = post_deal_with_client(acme, client_fields)
    client, deal = acme.account.clients.get(), acme.account.deals.get()
    path = f"http://acme.example.test/app/deals/{deal.id}.json"
    assert_answered(response, 201, deal_body(deal, acme.bob, name="a", client_id=client.id), location=path)
    body = client_body(client, acme.bob, **client_fields, deals_count=1)
    assert_answered(acme.json().get(f"/app/clients/{client.id}.json"), 200, body)

    # The client is linked and gets the other id; its other fields are unchanged.
    other_fields = {"name": "Else", "email": "else@example.net", "external_ids": {"shop_id": 17, "other": "5"}}
    response = acme.json(acme.alice_token).post(
        "/app/deals.json", json={"deal": {"name": "b", "client": other_fields | {"note": "x"}}}
    )
    assert (response.status_code, read(response)["client_id"]) == (201, client.id)
    client.refresh_from_db()
    client_fields["external_ids"] = {"other": "5", "shop_id": "17"}
    body = client_body(client, acme.bob, **client_fields, updater_id=acme.alice.id, deals_count=2)
    assert_answered(acme.json().get(f"/app/clients/{client.id}.json"), 200, body)
    # The added id also finds the client. Its other fields are not validated.
    for fields in ({"external_ids": {"other": "5"}}, {"name": "", "email": [], "external_ids": {"shop_id": "17"}}):
        assert read(post_deal_with_client(acme, fields))["client_id"] == client.id
    deal = make_deal(acme.alice)
    response = put(acme, deal, client={"external_ids": {"shop_id": "17"}})
    assert (response.status_code, read(response)["client_id"]) == (200, client.id)
    response = put(acme, deal, client={"name": "New", "external_ids": {"shop_id": "18"}})
    new_id = acme.account.clients.get(name="New").id
    assert (response.status_code, read(response)["client_id"]) == (200, new_id)
    assert read(put(acme, deal, client=None))["client_id"] == new_id
    assert acme.account.clients.count() == 2
    # A client in the trash is not found.
    client.trash(by=acme.alice)
    response = post_deal_with_client(acme, {"name": "Third", "external_ids": {"shop_id": "17"}})
    assert read(response)["client_id"] == acme.account.clients.live().get(name="Third").id


def test_an_existing_client_keeps_its_external_ids(acme):
    external_ids = {"shop_id": "17", "erp": "K-1", "crm": "9"}
    client = make_client(acme.alice, external_ids=external_ids)
    nested_client = {"external_ids": {"shop_id": 17, "erp": "K-2", "crm": None, "new": "5", "gone": None}}
    response = post_deal_with_client(acme, nested_client)
    assert (response.status_code, read(response)["client_id"]) == (201, client.id)
    assert response.headers["X-Ignored-Fields"] == "client.external_ids.erp"
    client.refresh_from_db()
    assert client.external_ids == {**external_ids, "new": "5"}
    # The rejected id is still free.
    second_nested_client = {"name": "Eve", "external_ids": {"erp": "K-2"}}
    assert read(post_deal_with_client(acme, second_nested_client))["client_id"] != client.id


def test_it_rejects_too_many_external_ids_for_an_existing_client(acme):
    """The limit applies even if a null in the same request removes an id."""
    client = make_client(acme.alice, external_ids={f"key{number}": "1" for number in range(50)})
    response = post_deal_with_client(acme, {"external_ids": {"key0": "1", "key1": None, "new": "1"}})
    assert_refused(response, 422, "validation_failed", {"client.external_ids": ["are too many (maximum is 50)"]})
    client.refresh_from_db()
    assert len(client.external_ids) == 50


def test_a_nested_client_beside_a_client_id(acme):
    client = make_client(acme.alice)
    for blank in (None, "", "  "):
        response = post_deal_with_client(acme, {"name": "Ann"}, client_id=blank)
        assert (response.status_code, read(response)["client_id"]) == (201, acme.account.clients.latest("id").id)
    assert read(post_deal_with_client(acme, None, client_id=client.id))["client_id"] == client.id
    assert read(post_deal_with_client(acme, None))["client_id"] is None
    number = acme.account.clients.count()
    errors = {"client": ["can't be given together with client_id"]}
    for response in (
        post_deal_with_client(acme, {"name": "Ann"}, client_id=client.id),
        put(acme, make_deal(acme.alice), client={"name": "Ann"}, client_id=client.id),
    ):
        assert_refused(response, 422, "validation_failed", errors)
    assert acme.account.clients.count() == number


def test_it_rejects_external_ids_of_different_clients(acme):
    first = make_client(acme.alice, external_ids={"a": "1"})
    second = make_client(acme.alice, external_ids={"b": "2"})
    response = post_deal_with_client(acme, {"external_ids": {"b": "2", "a": "1"}})
    errors = {"client": [f"has external ids of different clients ({first.id}, {second.id})"]}
    assert_refused(response, 422, "validation_failed", errors)
    assert not acme.account.deals.exists()


@table(
    ("client", "errors"),
    [
        ({"name": "a" * 256}, {"client.name": ["is too long (maximum is 255 characters)"]}),
        ("text", {"client": ["must be an object"]}),
        (["text"], {"client": ["must be an object"]}),
        (
            {"email": "a" * 256, "name": "a", "external_ids": {"": "1", "b": ""}},
            {
                "client.email": ["is too long (maximum is 255 characters)"],
                "client.external_ids": [
                    "key  is not made of 1-64 letters, digits, _, . and -",
                    "b must be a text of 1-255 characters",
                ],
            },
        ),
        ({"name": "a", "external_ids": [1]}, {"client.external_ids": ["must be an object of key to identifier"]}),
    ],
)
def test_it_rejects_invalid_nested_clients(acme, client, errors):
    assert_refused(post_deal_with_client(acme, client), 422, "validation_failed", errors)
    # Errors of the deal are reported together with them.
    deal_errors = {"name": ["can't be blank"], "price": ["is not a number"]}
    assert_refused(post(acme, price="x", client=client), 422, "validation_failed", deal_errors | errors)
    assert not acme.account.deals.exists()
    assert not acme.account.clients.exists()


def test_an_invalid_deal_creates_no_nested_client(acme):
    assert_refused(post(acme, client={"name": "Ann"}), 422, "validation_failed", {"name": ["can't be blank"]})
    assert not acme.account.clients.exists()


def test_unknown_fields_of_a_nested_client_are_ignored(acme):
    response = post_deal_with_client(acme, {"name": "Ann", "id": 7, "phone": "1"}, colour="red")
    assert response.status_code == 201
    assert response.headers["X-Ignored-Fields"] == "colour,client.id,client.phone"


@table(("language", "name"), [("en", "Guest"), ("pl", "Gość")])
def test_a_nested_client_without_a_name_is_named_by_its_email_or_guest(acme, language, name):
    acme.account.change(language=language)
    for client, expected in (
        ({"email": "ann@example.net"}, "ann@example.net"),
        ({}, name),
        ({"name": " ", "email": ""}, name),
        ({"name": None, "external_ids": {"shop": "1"}}, name),
    ):
        response = post_deal_with_client(acme, client)
        row = acme.account.clients.latest("id")
        assert (response.status_code, read(response)["client_id"], row.name) == (201, row.id, expected)
    response = acme.json().post("/app/deals/bulk.json", json={"deals": [{"name": "Order", "client": {"note": "x"}}]})
    assert (read(response)[0]["status"], acme.account.clients.latest("id").name) == (201, name)


def test_a_contact_in_the_trash_is_linked_again_when_it_is_restored(acme):
    contact = make_contact(acme.alice)
    path = f"/app/deals/{make_deal(acme.alice, contact_id=contact.id).id}.json"
    contact.trash(by=acme.alice)
    assert read(acme.json().get(path))["contact_id"] is None
    contact.restore()
    assert read(acme.json().get(path))["contact_id"] == contact.id
