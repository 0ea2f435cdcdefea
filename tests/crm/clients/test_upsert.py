"""PUT by external id and creates with `try_update`: update the existing row, or else create one."""

from crm.clients.models import Client
from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import client_body, contact_body, deal_body
from tests.support.factories import make_client, make_contact, make_deal
from tests.support.tables import table

MAKE = {"client": make_client, "contact": make_contact, "deal": make_deal}
every_kind = table("kind", MAKE)
BODY = {"client": client_body, "contact": contact_body, "deal": deal_body}
PAIR = "must be external_ids[key]=value: a key of 1-64 letters, digits, _, . and -, a value of 1-255 characters"


def put(acme, kind, query, method="PUT", **fields):
    return acme.json().request(method, f"/app/{kind}s.json?{query}", json={kind: fields})


def rows(acme, kind):
    return getattr(acme.account, f"{kind}s")


@every_kind
def test_it_works(acme, other, kind):
    row_of_other = MAKE[kind](other.mallory, "Of other", external_ids={"shop.id": "17"})
    response = put(acme, kind, "external_ids[shop.id]=17", name="First", external_ids={"more": "1"})
    row = rows(acme, kind).get()
    body = BODY[kind](row, acme.bob, name="First", external_ids={"more": "1", "shop.id": "17"})
    assert_answered(response, 201, body, location=f"http://acme.example.test/app/{kind}s/{row.id}.json")

    # An update needs only the changed fields.
    response = put(acme, kind, "external_ids%5Bshop.id%5D=17", "PATCH", external_ids={"more": None})
    row.refresh_from_db()
    body = BODY[kind](row, acme.bob, name="First", external_ids={"shop.id": "17"})
    assert_answered(response, 200, body)
    assert rows(acme, kind).count() == 1
    row_of_other.refresh_from_db()
    assert row_of_other.name == "Of other"
    # A row in the trash is not found.
    row.trash(by=acme.alice)
    response = put(acme, kind, "external_ids[shop.id]=17", "PATCH", name="New")
    assert (response.status_code, rows(acme, kind).live().count()) == (201, 1)


@every_kind
def test_it_rejects_invalid_queries(acme, kind):
    for query, rule in (
        ("", "can't be blank"),
        ("external_ids=17", "can't be blank"),
        ("external_id[a]=17", "can't be blank"),
        ("external_ids[]=17", PAIR),
        ("external_ids[a]=", PAIR),
        ("&".join(f"external_ids[{number}]=1" for number in range(51)), "are too many (maximum is 50)"),
    ):
        assert_refused(put(acme, kind, query, name="a"), 422, "validation_failed", {"external_ids": [rule]})
    # The error of a repeated key is the same as for a list with this query.
    query = "external_ids[shop]=17&external_ids%5Bshop%5D=17&external_ids[erp]=1"
    for response in (put(acme, kind, query, name="a"), acme.json().get(f"/app/{kind}s.json?{query}")):
        assert_refused(response, 422, "validation_failed", {"external_ids[shop]": ["is given more than once"]})
    assert not rows(acme, kind).exists()


@every_kind
def test_it_rejects_invalid_new_rows(acme, kind):
    for value in (False, 0, "17", ["17"]):
        response = put(acme, kind, "external_ids[a]=1", name="First", external_ids=value)
        errors = {"external_ids": ["must be an object of key to identifier"]}
        assert_refused(response, 422, "validation_failed", errors)
    response = put(acme, kind, "external_ids[a]=1", description="x")
    assert_refused(response, 422, "validation_failed", {"name": ["can't be blank"]})
    response = acme.json().put(f"/app/{kind}s.json?external_ids[a]=1", json={})
    assert_refused(response, 422, "validation_failed", {kind: ["can't be blank"]})
    # Another value than that of the query.
    response = put(acme, kind, "external_ids[a]=1", name="New", external_ids={"a": "2"})
    assert_refused(response, 422, "validation_failed", {"external_ids": ["a is 1 in the address"]})
    assert not rows(acme, kind).exists()
    assert put(acme, kind, "external_ids[a]=1", name="New", external_ids={"a": 1}).status_code == 201
    response = put(acme, kind, "external_ids[a]=1", external_ids={"a": "2"})
    assert (response.status_code, read(response)["external_ids"]) == (200, {"a": "2"})


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
    fields = {"name": "Ann", "email": "ann@example.net", "external_ids": {"shop": "17"}, "note": "new"}
    assert_answered(response, 200, client_body(client, acme.alice, **fields | identifier, updater_id=acme.bob.id))
    assert acme.account.clients.count() == 1


@table(
    ("fields", "flag"),
    [
        ({}, True),
        ({"email": None}, True),
        ({"email": " "}, True),
        ({"email": "eve@example.net"}, True),
        ({"external_ids": {"shop": "18"}}, True),
        ({"external_ids": {"other": "17"}, "email": ""}, True),
        *(({"email": "ann@example.net"}, flag) for flag in (False, None, "", "0", "no")),
    ],
)
def test_a_client_is_created_if_none_exists_or_without_try_update(acme, fields, flag):
    make_client(acme.alice, email="ann@example.net", external_ids={"shop": "17"})
    make_client(acme.alice, email="")
    response = create(acme, name="New", try_update=flag, **fields)
    assert response.status_code == 201
    assert response.headers["Location"].endswith(f"/app/clients/{read(response)['id']}.json")
    assert "X-Ignored-Fields" not in response.headers
    assert acme.account.clients.count() == 3


def test_try_update_prefers_external_ids_to_emails_and_older_clients(acme, other):
    elsewhere = make_client(other.mallory, "Of other", email="ann@example.net", external_ids={"shop": "17"})
    first, second, holder = (make_client(acme.alice, email="ann@example.net") for _ in range(3))
    holder.write({"external_ids": {"shop": "17"}}, by=acme.alice)
    fields = {"email": "ann@example.net", "try_update": True}
    assert read(create(acme, **fields, external_ids={"shop": "17"}))["id"] == holder.id
    assert read(create(acme, **fields))["id"] == first.id
    first.trash(by=acme.alice)
    assert read(create(acme, **fields, external_ids={"shop": "18"}, name="Second"))["id"] == second.id
    second.refresh_from_db()
    elsewhere.refresh_from_db()
    assert (second.external_ids, elsewhere.name) == ({"shop": "18"}, "Of other")
    response = create(acme, try_update=True, external_ids={"shop": "17", "other": "1"})
    assert read(response)["id"] == holder.id
    response = create(acme, try_update=True, external_ids={"shop": "18", "other": "1"})
    errors = {"external_ids": [f"belong to different clients ({second.id}, {holder.id})"]}
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
    # An invalid flag is reported together with all other errors.
    boolean = ["is not true or false"]
    errors = {"name": ["can't be blank"], "company": boolean, "try_update": boolean}
    for response in (
        create(acme, {"try_update": "perhaps"}, company="x"),
        create(acme, company="x", try_update="perhaps"),
    ):
        assert_refused(response, 422, "validation_failed", errors)
    assert list(Client.objects.values()) == before


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
