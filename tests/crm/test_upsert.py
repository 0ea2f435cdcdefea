"""PUT by external id and creates with `try_update`: update the existing row, or else create one."""

import pytest

from crm.models import Client
from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import client_body, contact_body, deal_body
from tests.support.factories import make_client, make_contact, make_deal
from tests.support.tables import table

MAKE = {"client": make_client, "contact": make_contact, "deal": make_deal}
every_kind = table("kind", MAKE)
BODY = {"client": client_body, "contact": contact_body, "deal": deal_body}


def put(acme, kind, query, method="PUT", **fields):
    return acme.json().request(method, f"/app/{kind}s.json?{query}", json={kind: fields})


def rows(acme, kind):
    return getattr(acme.account, f"{kind}s")


@every_kind
@table("method", ["PUT", "PATCH"])
def test_it_works(acme, kind, method):
    response = put(acme, kind, "external_ids[shop.id]=17", method, name="First", external_ids={"more": "1"})
    row = rows(acme, kind).get()
    body = BODY[kind](row, acme.bob, name="First", external_ids={"more": "1", "shop.id": "17"})
    assert_answered(response, 201, body, location=f"http://acme.example.test/app/{kind}s/{row.id}.json")

    response = put(acme, kind, "external_ids%5Bshop.id%5D=17", method, name="Second", external_ids={"more": None})
    row.refresh_from_db()
    body = BODY[kind](row, acme.bob, name="Second", external_ids={"shop.id": "17"})
    assert_answered(response, 200, body)
    assert rows(acme, kind).count() == 1


@every_kind
@table(
    ("query", "rule"),
    [
        ("", "can't be blank"),
        ("external_ids=17", "can't be blank"),
        ("external_id[a]=17", "can't be blank"),
        (
            "external_ids[]=17",
            "must be external_ids[key]=value: a key of 1-64 letters, digits, _, . and -, a value of 1-255 characters",
        ),
        (
            "external_ids[a]=",
            "must be external_ids[key]=value: a key of 1-64 letters, digits, _, . and -, a value of 1-255 characters",
        ),
        ("&".join(f"external_ids[{number}]=1" for number in range(51)), "are too many (maximum is 50)"),
    ],
)
def test_it_rejects_invalid_queries(acme, kind, query, rule):
    response = put(acme, kind, query, name="a")
    assert_refused(response, 422, "validation_failed", {"external_ids": [rule]})
    assert not rows(acme, kind).exists()


@every_kind
def test_it_rejects_a_repeated_key(acme, kind):
    """The error is the same as for a list with this query."""
    query = "external_ids[shop]=17&external_ids%5Bshop%5D=17&external_ids[erp]=1"
    errors = {"external_ids[shop]": ["is given more than once"]}
    assert_refused(put(acme, kind, query, name="a"), 422, "validation_failed", errors)
    assert_refused(acme.json().get(f"/app/{kind}s.json?{query}"), 422, "validation_failed", errors)
    assert not rows(acme, kind).exists()


@every_kind
@table("value", [False, 0, "17", ["17"]])
def test_it_rejects_external_ids_that_are_not_an_object(acme, kind, value):
    response = put(acme, kind, "external_ids[shop]=17", name="First", external_ids=value)
    rule = "must be an object of key to identifier"
    assert_refused(response, 422, "validation_failed", {"external_ids": [rule]})
    assert rows(acme, kind).count() == 0


@every_kind
def test_it_rejects_a_new_row_without_required_fields(acme, kind):
    response = put(acme, kind, "external_ids[a]=1", description="x")
    assert_refused(response, 422, "validation_failed", {"name": ["can't be blank"]})
    response = acme.json().put(f"/app/{kind}s.json?external_ids[a]=1", json={})
    assert_refused(response, 422, "validation_failed", {kind: ["can't be blank"]})
    assert not rows(acme, kind).exists()
    # An update of an existing row needs only the changed fields.
    row = MAKE[kind](acme.alice, "Ann", external_ids={"a": "1"})
    response = put(acme, kind, "external_ids[a]=1", description="x")
    assert (response.status_code, read(response)["id"], read(response)["name"]) == (200, row.id, "Ann")


@every_kind
def test_it_rejects_external_ids_of_different_rows_in_a_query(acme, kind):
    first = MAKE[kind](acme.alice, external_ids={"a": "1", "b": "2"})
    second = MAKE[kind](acme.alice, external_ids={"c": "3"})
    assert read(put(acme, kind, "external_ids[a]=1&external_ids[b]=2", description="x"))["id"] == first.id
    response = put(acme, kind, "external_ids[a]=1&external_ids[c]=3", description="y")
    rule = f"belong to different {kind}s ({first.id}, {second.id})"
    assert_refused(response, 422, "validation_failed", {"external_ids": [rule]})
    response = put(acme, kind, "external_ids[a]=1&external_ids[d]=4&external_ids[b]=3", description="y")
    rules = [f"b 3 does not belong to {kind} {first.id}", f"d 4 does not belong to {kind} {first.id}"]
    assert_refused(response, 422, "validation_failed", {"external_ids": rules})
    response = put(acme, kind, "external_ids[d]=4&external_ids[e]=5", name="New")
    assert (response.status_code, read(response)["external_ids"]) == (201, {"d": "4", "e": "5"})


@every_kind
def test_it_rejects_a_new_row_with_another_value_than_the_query(acme, kind):
    response = put(acme, kind, "external_ids[a]=1", name="New", external_ids={"a": "2"})
    assert_refused(response, 422, "validation_failed", {"external_ids": ["a is 1 in the address"]})
    assert put(acme, kind, "external_ids[a]=1", name="New", external_ids={"a": 1}).status_code == 201
    response = put(acme, kind, "external_ids[a]=1", external_ids={"a": "2"})
    assert (response.status_code, read(response)["external_ids"]) == (200, {"a": "2"})


@every_kind
def test_a_trashed_row_is_not_found(acme, kind):
    trashed = MAKE[kind](acme.alice, external_ids={"a": "1"})
    trashed.trash(by=acme.alice)
    response = put(acme, kind, "external_ids[a]=1", name="New")
    assert (response.status_code, rows(acme, kind).live().count()) == (201, 1)


@every_kind
def test_a_row_of_another_account_is_not_found(acme, other, kind):
    row_of_other = MAKE[kind](other.mallory, "Of other", external_ids={"a": "1"})
    assert put(acme, kind, "external_ids[a]=1", name="New").status_code == 201
    row_of_other.refresh_from_db()
    assert row_of_other.name == "Of other"


# try_update


def create(acme, top_level=None, **fields):
    return acme.json().post("/app/clients.json", json={**(top_level or {}), "client": fields})


@table(
    "identifier",
    [{"external_ids": {"shop": "17"}}, {"email": "ann@example.net"}, {"email": "ANN@Example.NET"}],
)
@table("is_top_level", [False, True])
def test_try_update_updates_an_existing_client(acme, identifier, is_top_level):
    client = make_client(acme.alice, "Ann", email="ann@example.net", external_ids={"shop": "17"}, note="old")
    flag = {"try_update": True}
    response = create(acme, flag if is_top_level else {}, **identifier, note="new", **({} if is_top_level else flag))
    client.refresh_from_db()
    body = client_body(
        client,
        acme.alice,
        name="Ann",
        email=identifier.get("email", "ann@example.net"),
        note="new",
        external_ids={"shop": "17"},
        updater_id=acme.bob.id,
    )
    assert_answered(response, 200, body)
    assert acme.account.clients.count() == 1


@table(
    "fields",
    [
        {"name": "New"},
        {"name": "New", "email": None},
        {"name": "New", "email": " "},
        {"name": "New", "email": "eve@example.net"},
        {"name": "New", "external_ids": {"shop": "18"}},
        {"name": "New", "external_ids": {"other": "17"}, "email": ""},
    ],
)
def test_try_update_creates_a_client_if_none_exists(acme, fields):
    make_client(acme.alice, email="ann@example.net", external_ids={"shop": "17"})
    make_client(acme.alice, email="")
    response = create(acme, try_update=True, **fields)
    assert response.status_code == 201
    assert response.headers["Location"].endswith(f"/app/clients/{read(response)['id']}.json")
    assert "X-Ignored-Fields" not in response.headers
    assert acme.account.clients.count() == 3


@table("flag", [False, None, "", "0", "no"])
def test_a_client_is_created_without_try_update(acme, flag):
    make_client(acme.alice, email="ann@example.net")
    assert create(acme, name="Ann", email="ann@example.net", try_update=flag).status_code == 201


@pytest.mark.parametrize("is_top_level", [False, True])
def test_it_rejects_an_invalid_try_update_with_all_other_errors(acme, is_top_level):
    flag = {"try_update": "perhaps"}
    response = create(acme, flag if is_top_level else {}, company="x", **({} if is_top_level else flag))
    assert_refused(
        response,
        422,
        "validation_failed",
        {
            "name": ["can't be blank"],
            "company": ["is not true or false"],
            "try_update": ["is not true or false"],
        },
    )


def test_try_update_prefers_external_ids_to_emails_and_older_clients(acme):
    first, second, holder = (make_client(acme.alice, email="ann@example.net") for _ in range(3))
    holder.write({"external_ids": {"shop": "17"}}, by=acme.alice)
    fields = {"email": "ann@example.net", "try_update": True}
    assert read(create(acme, **fields, external_ids={"shop": "17"}))["id"] == holder.id
    assert read(create(acme, **fields))["id"] == first.id
    first.trash(by=acme.alice)
    assert read(create(acme, **fields, external_ids={"shop": "18"}))["id"] == second.id
    second.refresh_from_db()
    assert second.external_ids == {"shop": "18"}


def test_it_rejects_external_ids_of_different_clients(acme):
    first, second = (make_client(acme.alice, external_ids={"shop": f"{number}"}) for number in range(2))
    second.write({"external_ids": {"other": "1"}}, by=acme.alice)
    response = create(acme, try_update=True, external_ids={"shop": "0", "other": "1"})
    errors = {"external_ids": [f"belong to different clients ({first.id}, {second.id})"]}
    assert_refused(response, 422, "validation_failed", errors)


def test_a_rejected_try_update_changes_nothing(acme):
    make_client(acme.alice, "Ann", email="ann@example.net", note="old")
    before = list(Client.objects.values())
    response = create(acme, try_update=True, email="ann@example.net", note="new", company="x")
    assert_refused(response, 422, "validation_failed", {"company": ["is not true or false"]})
    response = create(acme, try_update=True, email=["ann@example.net"], external_ids=7)
    errors = {
        "name": ["can't be blank"],
        "email": ["must be a single value"],
        "external_ids": ["must be an object of key to identifier"],
    }
    assert_refused(response, 422, "validation_failed", errors)
    assert list(Client.objects.values()) == before


def test_try_update_does_not_find_clients_of_another_account(acme, other):
    client_of_other = make_client(other.mallory, "Of other", email="ann@example.net", external_ids={"shop": "17"})
    response = create(acme, try_update=True, name="a", email="ann@example.net", external_ids={"shop": "17"})
    assert response.status_code == 201
    client_of_other.refresh_from_db()
    assert client_of_other.name == "Of other"


def test_upserts_take_few_queries(acme, django_assert_num_queries):
    make_client(acme.alice, email="ann@example.net", external_ids={"shop": "17"})
    client = acme.json()
    client.get("/app/account.json")
    body = {"client": {"email": "ann@example.net", "try_update": True, "note": "x"}}
    # The token; the lock; the client; its update; the savepoint that replaces the transaction in tests.
    with django_assert_num_queries(1 + 3 + 2):
        assert client.post("/app/clients.json", json=body).status_code == 200
    # The token; the holder of the id; the client; its update.
    with django_assert_num_queries(1 + 3 + 2):
        client.put("/app/clients.json?external_ids[shop]=17", json={"client": {"note": "y"}})
