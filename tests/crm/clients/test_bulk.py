"""Bulk creates. An item has the result of a single request, and more items take no more statements. `X-Atomic` is optional."""

from django.db import connection

from accounts.tags.models import Tag, TagCount
from crm.clients.models import Client, ClientExternalId
from crm.contacts.models import Contact, ContactListCount
from crm.deals.models import Deal
from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import client_body, contact_body, deal_body
from tests.support.factories import make_client, make_contact, make_contact_list
from tests.support.queries import capture_queries
from tests.support.tables import table

BLANK = {
    "status": 422,
    "code": "validation_failed",
    "message": "Name can't be blank",
    "errors": {"name": ["can't be blank"]},
}


def send(acme, kind, items, *, headers=None, **top_level):
    return acme.json().post(f"/app/{kind}s/bulk.json", json={f"{kind}s": items, **top_level}, headers=headers or {})


def test_it_works(acme):
    ann_fields = {"name": "Ann", "email": "ann@example.net", "external_ids": {"shop": "17"}, "tags": ["vip"]}
    response = send(acme, "client", [ann_fields, {"note": "nobody"}, {"name": "Eve", "tags": "VIP, new"}])
    ann, eve = acme.account.clients.order_by("id")
    assert_answered(
        response,
        200,
        [
            {"status": 201, "client": client_body(ann, acme.bob, **ann_fields)},
            BLANK,
            {"status": 201, "client": client_body(eve, acme.bob, name="Eve", tags=["vip", "new"])},
        ],
    )
    assert ann.id < eve.id
    assert set(ClientExternalId.objects.values_list("key", "value", "holder_id")) == {("shop", "17", ann.id)}
    assert {row["name"]: row["count"] for row in Tag.objects.in_use("client")} == {"vip": 2, "new": 1}


def test_bulk_creates_contacts(acme):
    client, news, offers = make_client(acme.alice), make_contact_list(acme.alice), make_contact_list(acme.alice)
    response = send(
        acme,
        "contact",
        [
            {"name": "Ann", "client_id": client.id, "contact_list_ids": [offers.id, news.id]},
            {"first_name": "Eve", "contact_list_ids": [news.id]},
            {"name": "Bob", "client_id": 10**12, "contact_list_ids": [news.id, 10**12]},
        ],
    )
    ann, eve = acme.account.contacts.order_by("id")
    errors = {
        "client_id": ["can't be found"],
        "contact_list_ids": ["1000000000000 can't be found"],
    }
    list_ids = [news.id, offers.id]
    assert_answered(
        response,
        200,
        [
            {
                "status": 201,
                "contact": contact_body(ann, acme.bob, name="Ann", client_id=client.id, contact_list_ids=list_ids),
            },
            {
                "status": 201,
                "contact": contact_body(eve, acme.bob, name="Eve", first_name="Eve", contact_list_ids=[news.id]),
            },
            {"status": 422, "code": "validation_failed", "message": "Client can't be found", "errors": errors},
        ],
    )
    counts = dict(ContactListCount.objects.values_list("contact_list_id", "uses"))
    assert counts == {news.id: 2, offers.id: 1}
    rows = Contact.objects.with_list_ids().order_by("id")
    assert [row.contact_list_ids for row in rows] == [list_ids, [news.id]]


def test_deals_with_nested_clients(acme):
    """Items act in order: later items find a client that an earlier one created, and add external ids to it."""
    known = make_client(acme.alice, "Known", external_ids={"shop": "1"})
    response = send(
        acme,
        "deal",
        [
            {"name": "A", "client": {"name": "Other name", "external_ids": {"shop": "1", "erp": "x"}}},
            {"name": "B", "client": {"name": "New", "external_ids": {"shop": "2"}}},
            {"name": "C", "client": {"external_ids": {"shop": "2", "erp": "y"}}},
            {"name": "D", "client": {"external_ids": {"erp": "y"}}, "price": "12.50"},
            {"name": "E", "client": {"external_ids": {"erp": "y", "shop": "1"}}},
            {"name": "", "client": {"name": "Lost", "external_ids": {"shop": "3"}}},
            {"name": "G", "client": {"name": "Third", "external_ids": {"shop": "3"}}},
        ],
    )
    results = read(response)
    known.refresh_from_db()
    new, third = acme.account.clients.exclude(id=known.id).order_by("name")
    assert [result["status"] for result in results] == [201, 201, 201, 201, 422, 422, 201]
    assert [result["deal"]["client_id"] for result in results if "deal" in result] == [
        known.id,
        new.id,
        new.id,
        new.id,
        third.id,
    ]
    assert results[4]["errors"] == {"client": [f"has external ids of different clients ({known.id}, {new.id})"]}
    assert (known.name, known.external_ids) == ("Known", {"shop": "1", "erp": "x"})
    assert (new.name, new.external_ids) == ("New", {"shop": "2", "erp": "y"})
    assert (third.name, third.external_ids) == ("Third", {"shop": "3"})
    deal = acme.account.deals.get(name="D")
    assert results[3] == {
        "status": 201,
        "deal": deal_body(deal, acme.bob, name="D", price=12.5, client_id=new.id, currency=acme.account.currency),
    }


def test_an_item_conflicts_with_items_before_it(acme):
    holder = make_client(acme.alice, external_ids={"shop": "1"})
    results = read(
        send(
            acme,
            "client",
            [
                {"name": "A", "external_ids": {"shop": "2"}},
                {"name": "B", "external_ids": {"shop": "2"}},
                {"name": "C", "external_ids": {"shop": "1"}},
            ],
        )
    )
    created_id = results[0]["client"]["id"]
    assert [result.get("errors") for result in results] == [
        None,
        {"external_ids": [f"shop 2 belongs to client {created_id}"]},
        {"external_ids": [f"shop 1 belongs to client {holder.id}"]},
    ]


def test_try_update(acme):
    """`try_update` applies to all clients or to one; the effect is that of requests in order."""
    first = make_client(acme.alice, "First", email="ann@example.net")
    second = make_client(acme.alice, "Second", email="ANN@example.net", external_ids={"shop": "2"})
    results = read(
        send(
            acme,
            "client",
            [
                {"name": "1", "email": "Ann@Example.net"},  # two clients have this e-mail: the older one is updated
                {"name": "2", "email": "eve@example.net", "external_ids": {"shop": "2", "erp": "2"}},
                {"name": "3", "external_ids": {"erp": "2", "shop": None}},  # removes shop 2 from the client
                {"name": "4", "email": "eve@example.net", "try_update": False},
                {"name": "5", "email": "new@example.net", "external_ids": {"shop": "2"}},
                {"name": "6", "email": "NEW@example.net", "note": "again"},
                {"email": "other@example.net", "external_ids": {"shop": "2", "erp": "2"}},
            ],
            try_update=True,
        )
    )
    assert [result["status"] for result in results] == [200, 200, 200, 201, 201, 200, 422]
    ids = [result["client"]["id"] for result in results[:-1]]
    assert ids[:3] == [first.id, second.id, second.id]
    assert ids[4] == ids[5]
    assert results[6]["errors"] == {"external_ids": [f"belong to different clients ({second.id}, {ids[4]})"]}
    # The results of two items for one client both show its final state.
    assert results[4]["client"] == results[5]["client"]
    assert {row.id: (row.name, row.email, row.external_ids, row.note) for row in Client.objects.all()} == {
        first.id: ("1", "Ann@Example.net", {}, None),
        second.id: ("3", "eve@example.net", {"erp": "2"}, None),
        ids[3]: ("4", "eve@example.net", {}, None),
        ids[4]: ("6", "NEW@example.net", {"shop": "2"}, "again"),
    }


def test_try_update_after_an_email_moved_to_another_client(acme):
    oldest, next_one = (make_client(acme.alice, email="ann@example.net", external_ids={"shop": str(n)}) for n in "12")
    results = read(
        send(
            acme,
            "client",
            [
                {"email": "ann@example.net", "note": "a"},
                {"email": "eve@example.net", "external_ids": {"shop": "1"}},
                {"email": "ann@example.net", "note": "b"},
                {"email": "eve@example.net", "note": "c"},
                {"email": "bob@example.net", "external_ids": {"shop": "2"}},
                {"email": "ann@example.net", "name": "d"},
            ],
            try_update=True,
        )
    )
    ids = [result["client"]["id"] for result in results]
    assert ids[:5] == [oldest.id, oldest.id, next_one.id, oldest.id, next_one.id]
    assert ids[5] not in ids[:5]
    assert [result["status"] for result in results] == [200] * 5 + [201]


def test_atomic_requests_create_all_items_or_none(acme):
    items = [{"name": "A", "tags": ["new"], "external_ids": {"shop": "1"}}, {"note": "nobody", "discount": "x"}, 7]
    errors = {
        "clients.1.name": ["can't be blank"],
        "clients.1.discount": ["is not a number"],
        "clients.2.client": ["must be an object"],
    }
    for value in ("true", "1", "TRUE"):
        assert_refused(send(acme, "client", items, headers={"X-Atomic": value}), 422, "validation_failed", errors)
    for model in (Client, Tag, TagCount, ClientExternalId):
        assert not model.objects.exists()
    results = read(send(acme, "client", items, headers={"X-Atomic": "false"}))
    assert [result["status"] for result in results] == [201, 422, 422]
    assert read(send(acme, "client", [{"name": "B"}], headers={"X-Atomic": "true"}))[0]["status"] == 201
    for value in ("perhaps", "", " "):
        response = send(acme, "client", [], headers={"X-Atomic": value})
        assert_refused(response, 422, "validation_failed", {"x_atomic": ["is not true or false"]})


def test_errors_of_atomic_requests_name_no_rolled_back_client(acme):
    holder = make_client(acme.alice, external_ids={"shop": "1"})
    atomic = {"X-Atomic": "true"}
    clients = [
        {"name": "A", "external_ids": {"shop": "2"}},
        {"name": "B", "external_ids": {"shop": "2"}},
        {"name": "C", "external_ids": {"shop": "1"}},
        {"name": "D", "external_ids": {"shop": "2", "erp": "2"}, "try_update": True},
        {"name": "E", "external_ids": {"shop": "1", "erp": "2"}, "try_update": True},
    ]
    errors = {
        "clients.1.external_ids": ["shop 2 belongs to item 0"],
        "clients.2.external_ids": [f"shop 1 belongs to client {holder.id}"],
        "clients.4.external_ids": [f"belong to different clients ({holder.id}, item 0)"],
    }
    assert_refused(send(acme, "client", clients, headers=atomic), 422, "validation_failed", errors)
    deals = [
        {"name": "A", "external_ids": {"order": "1"}, "client": {"name": "A", "external_ids": {"shop": "2"}}},
        {"name": "B", "external_ids": {"order": "1"}, "client": {"external_ids": {"shop": "1", "erp": "1"}}},
        {"name": "C", "client": {"external_ids": {"shop": "2", "erp": "1"}}},
        {"name": "D", "client": {"external_ids": {"shop": "1", "new": "1"}}},
        {"name": "E", "client": {"name": "E", "external_ids": {"shop": "2", "new": "1"}}},
    ]
    errors = {
        "deals.1.external_ids": ["order 1 belongs to item 0"],
        "deals.4.client": [f"has external ids of different clients ({holder.id}, item 0)"],
    }
    assert_refused(send(acme, "deal", deals, headers=atomic), 422, "validation_failed", errors)


def test_a_rejected_item_creates_no_nested_client(acme):
    results = read(send(acme, "deal", [{"client": {"name": "a", "external_ids": {"shop": "1"}}}]))
    assert results[0]["errors"] == {"name": ["can't be blank"]}
    assert not Client.objects.exists()
    assert not ClientExternalId.objects.exists()


def test_it_rejects_bodies_without_a_valid_list(acme):
    for body, rule in (
        ({}, "can't be blank"),
        ({"clients": None}, "can't be blank"),
        ({"clients": {"name": "a"}}, "must be a list of clients"),
        ({"clients": "a"}, "must be a list of clients"),
        ({"clients": [{}] * 1001}, "are too many (maximum is 1000)"),
    ):
        response = acme.json().post("/app/clients/bulk.json", json=body)
        assert_refused(response, 422, "validation_failed", {"clients": [rule]})
    assert read(send(acme, "client", [{}] * 1000)) == [BLANK] * 1000
    assert_answered(send(acme, "client", []), 200, [])


@table("kind", ["client", "contact", "deal"])
def test_ignored_fields_of_items(acme, kind):
    items = [{"name": "a", "id": 7, "nme": "b"}, {"name": "a", "id": 8}]
    response = send(acme, kind, items, other=1)
    assert response.headers["X-Ignored-Fields"] == "other,id,nme"
    rule = ["is not a field that can be set"]
    response = send(acme, kind, items, headers={"Prefer": "handling=strict"}, other=1)
    assert_refused(response, 422, "validation_failed", {"other": rule})
    results = read(send(acme, kind, items, headers={"Prefer": "handling=strict"}))
    assert [result["errors"] for result in results] == [{"id": rule, "nme": rule}, {"id": rule}]


def test_the_number_of_statements_does_not_depend_on_the_number_of_items(acme):
    statuses = [acme.account.statuses.create(kind="client", code=f"c{n}", name=f"C{n}") for n in range(3)]
    contact = make_contact(acme.alice)
    known = [make_client(acme.alice, email=f"known{n}@example.net") for n in range(20)]

    def item(n):
        return {
            "name": f"Client {n}",
            "email": f"client{n}@example.net" if n >= 20 else f"known{n}@example.net",
            "phone": f"+48 600 {n:06}",
            "external_ids": {"shop": str(n), "erp": f"e{n}"},
            "tags": ["imported", f"tag {n % 50}"],
            "status_id": statuses[n % 3].id,
            "responsible_id": acme.bob.id,
            "contact_id": contact.id,
            "try_update": True,
            "integer1": n,
        }

    client = acme.json()
    client.get("/app/clients/tags.json")
    for size in (30, 200):
        response, queries = capture_queries(
            lambda size=size: client.post("/app/clients/bulk.json", json={"clients": [item(n) for n in range(size)]})
        )
        assert {result["status"] for result in read(response)} == {200, 201}
        assert len(queries) == 19, [query[:100] for query in queries]
    assert (Client.objects.count(), ClientExternalId.objects.count()) == (200, 400)
    assert {row["name"]: row["count"] for row in Tag.objects.in_use("client")}["imported"] == 200
    for n, row in enumerate(known):
        row.refresh_from_db()
        assert (row.name, row.external_ids) == (f"Client {n}", {"shop": str(n), "erp": f"e{n}"})


def test_deals_with_clients_take_few_statements(acme):
    make_client(acme.alice, external_ids={"shop": "7"})
    items = [
        {
            "name": f"Order {n}",
            "external_ids": {"order": str(n)},
            "client": {"name": "a", "external_ids": {"shop": str(n // 2)}},
            "tags": ["imported"],
        }
        for n in range(100)
    ]
    response, queries = capture_queries(lambda: send(acme, "deal", items))
    assert {result["status"] for result in read(response)} == {201}
    assert len(queries) < 30
    assert Client.objects.count() == 50
    assert Deal.objects.filter(client_id__isnull=False).count() == 100


def test_every_created_row_is_in_the_change_feed(acme):
    response = send(acme, "client", [{"name": "a"}, {"name": "b"}])
    ids = {result["client"]["id"] for result in read(response)}
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    changes = read(acme.json().get("/app/changes.json"))["changes"]
    assert {(change["resource"], change["id"]) for change in changes if change["change"] == "created"} >= {
        ("client", id) for id in ids
    }
