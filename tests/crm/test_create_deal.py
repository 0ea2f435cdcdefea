from datetime import date
from decimal import Decimal

import pytest

from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import client_body, deal_body
from tests.support.factories import make_client
from tests.support.tables import table


def test_it_works(acme):
    client = make_client(acme.alice)
    response = acme.json().post(
        "/app/deals.json",
        json={"deal": {"name": "deal 1", "description": "of many", "price": 1000, "client_id": client.id}},
    )
    deal = acme.account.deals.get()
    assert_answered(
        response,
        201,
        deal_body(deal, acme.bob, name="deal 1", description="of many", price=1000, client_id=client.id),
        location=f"http://acme.example.test/app/deals/{deal.id}.json",
    )


def test_it_rejects_every_error_at_once(acme):
    post_status = acme.account.statuses.get(kind="post", code="new")
    deal = {
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
    assert_refused(
        acme.json().post("/app/deals.json", json={"deal": deal}),
        422,
        "validation_failed",
        {
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
        },
    )
    assert not acme.account.deals.exists()


@pytest.mark.parametrize("body", [{}, {"deal": None}], ids=str)
def test_it_rejects_a_body_without_a_deal(acme, body):
    response = acme.json().post("/app/deals.json", json=body)
    assert_refused(response, 422, "validation_failed", {"deal": ["can't be blank"]})


def test_it_rejects_other_methods(acme):
    assert_refused(
        acme.json().delete("/app/deals.json"), 405, "method_not_allowed", allow="GET, HEAD, POST, PUT, PATCH"
    )


def test_all_fields(acme):
    client = make_client(acme.alice)
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
    client = acme.json()
    response = client.post("/app/deals.json", json={"deal": {**fields, "price": 19.99}})
    row = acme.account.deals.get()
    assert row.expected_close_date == date(2009, 2, 28)
    body = deal_body(row, acme.bob, **fields)
    assert_answered(response, 201, body, location=f"http://acme.example.test/app/deals/{row.id}.json")
    assert_answered(client.get(f"/app/deals/{row.id}.json"), 200, body)


def test_the_currency_defaults_to_that_of_the_account(acme):
    acme.account.currency = "PLN"
    acme.account.save()
    for fields in ({}, {"currency": None}, {"currency": " "}):
        response = acme.json().post("/app/deals.json", json={"deal": {"name": "a", **fields}})
        assert read(response)["currency"] == "PLN"


# Nested clients


def post_deal_with_client(acme, client, **fields):
    return acme.json().post("/app/deals.json", json={"deal": {"name": "a", "client": client, **fields}})


def test_a_nested_client_is_created(acme):
    client_fields = {"name": "Ann", "email": "ann@example.net", "note": "n", "external_ids": {"shop_id": "17"}}
    response = post_deal_with_client(acme, client_fields)
    client, deal = acme.account.clients.get(), acme.account.deals.get()
    assert_answered(
        response,
        201,
        deal_body(deal, acme.bob, name="a", client_id=client.id),
        location=f"http://acme.example.test/app/deals/{deal.id}.json",
    )
    body = client_body(client, acme.bob, **client_fields, deals_count=1)
    assert_answered(acme.json().get(f"/app/clients/{client.id}.json"), 200, body)


def test_a_nested_client_is_found_by_one_of_its_external_ids(acme):
    client = make_client(acme.alice, "Ann", email="ann@example.net", external_ids={"shop_id": "17"})
    client_fields = {
        "name": "Else",
        "email": "else@example.net",
        "note": "x",
        "external_ids": {"shop_id": 17, "other": "5"},
    }
    response = post_deal_with_client(acme, client_fields)
    assert response.status_code == 201
    assert read(response)["client_id"] == client.id
    client.refresh_from_db()
    # The client is linked and gets the other id; its other fields are unchanged.
    body = client_body(
        client,
        acme.alice,
        name="Ann",
        email="ann@example.net",
        external_ids={"other": "5", "shop_id": "17"},
        updater_id=acme.bob.id,
        deals_count=1,
    )
    assert_answered(acme.json().get(f"/app/clients/{client.id}.json"), 200, body)
    assert acme.account.clients.count() == 1
    # The added id also finds the client.
    assert read(post_deal_with_client(acme, {"external_ids": {"other": "5"}}))["client_id"] == client.id


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


def test_other_fields_of_an_existing_client_are_not_validated(acme):
    client = make_client(acme.alice, "Ann", external_ids={"shop_id": "17"})
    response = post_deal_with_client(acme, {"name": "", "email": [], "external_ids": {"shop_id": "17"}})
    assert response.status_code == 201
    assert read(response)["client_id"] == client.id


def test_a_nested_client_without_a_name_is_named_by_its_email(acme):
    assert post_deal_with_client(acme, {"email": "ann@example.net"}).status_code == 201
    assert acme.account.clients.get().name == "ann@example.net"


@table("client_id", [None, "", "  "])
def test_a_blank_client_id_next_to_a_nested_client_is_ignored(acme, client_id):
    response = post_deal_with_client(acme, {"name": "Ann"}, client_id=client_id)
    assert response.status_code == 201
    assert read(response)["client_id"] == acme.account.clients.get().id


def test_a_null_nested_client_is_ignored(acme):
    client = make_client(acme.alice)
    response = post_deal_with_client(acme, None, client_id=client.id)
    assert read(response)["client_id"] == client.id
    assert read(post_deal_with_client(acme, None))["client_id"] is None


def test_it_rejects_a_nested_client_together_with_a_client_id(acme):
    client = make_client(acme.alice)
    response = post_deal_with_client(acme, {"name": "Ann"}, client_id=client.id)
    assert_refused(response, 422, "validation_failed", {"client": ["can't be given together with client_id"]})
    assert acme.account.clients.count() == 1


def test_it_rejects_external_ids_of_different_clients(acme):
    first = make_client(acme.alice, external_ids={"a": "1"})
    second = make_client(acme.alice, external_ids={"b": "2"})
    response = post_deal_with_client(acme, {"external_ids": {"b": "2", "a": "1"}})
    assert_refused(
        response,
        422,
        "validation_failed",
        {"client": [f"has external ids of different clients ({first.id}, {second.id})"]},
    )
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
        (
            {"name": "a\x00"},
            {"client.name": ["has a character that can't be used (a control character or half of a surrogate pair)"]},
        ),
    ],
)
def test_it_rejects_invalid_nested_clients(acme, client, errors):
    assert_refused(post_deal_with_client(acme, client), 422, "validation_failed", errors)
    assert not acme.account.deals.exists()
    assert not acme.account.clients.exists()


def test_an_invalid_deal_creates_no_nested_client(acme):
    response = acme.json().post("/app/deals.json", json={"deal": {"client": {"name": "Ann"}}})
    assert_refused(response, 422, "validation_failed", {"name": ["can't be blank"]})
    assert not acme.account.clients.exists()


def test_errors_of_the_deal_and_of_its_nested_client_are_reported_together(acme):
    response = acme.json().post("/app/deals.json", json={"deal": {"price": "x", "client": {"name": []}}})
    assert_refused(
        response,
        422,
        "validation_failed",
        {"name": ["can't be blank"], "price": ["is not a number"], "client.name": ["must be a single value"]},
    )


def test_a_trashed_client_is_not_found_by_its_external_id(acme):
    trashed = make_client(acme.alice, external_ids={"a": "1"})
    trashed.trash(by=acme.alice)
    response = post_deal_with_client(acme, {"name": "New", "external_ids": {"a": "1"}})
    assert response.status_code == 201
    assert read(response)["client_id"] == acme.account.clients.live().get().id != trashed.id


def test_unknown_fields_of_a_nested_client_are_ignored(acme):
    response = post_deal_with_client(acme, {"name": "Ann", "id": 7, "phone": "1"}, colour="red")
    assert response.status_code == 201
    assert response.headers["X-Ignored-Fields"] == "colour,client.id,client.phone"


@table(("language", "name"), [("en", "Guest"), ("pl", "Gość")])
@table("client", [{}, {"name": " ", "email": ""}, {"name": None, "external_ids": {"shop": "1"}}])
def test_a_nested_client_without_name_and_email_is_named_guest(acme, language, name, client):
    acme.account.language = language
    acme.account.save()
    response = post_deal_with_client(acme, client)
    row = acme.account.clients.get()
    assert (response.status_code, read(response)["client_id"], row.name) == (201, row.id, name)
    response = acme.json().post("/app/deals/bulk.json", json={"deals": [{"name": "Order", "client": {"note": "x"}}]})
    assert read(response)[0]["status"] == 201
    assert [row.name for row in acme.account.clients.all()] == [name, name]


def test_it_rejects_a_client_without_a_name_outside_a_deal(acme):
    response = acme.json().post("/app/clients.json", json={"client": {"note": "x"}})
    assert_refused(response, 422, "validation_failed", {"name": ["can't be blank"]})
