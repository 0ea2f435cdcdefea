"""An agent who sees only their own rows finds nothing of the others, on any route of the APIs and on any page."""

from types import SimpleNamespace

import pytest
from django.db import connection

from accounts.access.models import Group
from accounts.users.models import User
from team.backers.api import LIMITED
from team.bulk.models import BulkChange
from team.exports.models import Export
from tests.support import page_routes
from tests.support.assertions import assert_refused, read
from tests.support.factories import (
    make_answer,
    make_attachment,
    make_client,
    make_contact,
    make_contact_list,
    make_deal,
    make_field_definition,
    make_import,
    make_message,
    make_note,
    make_post,
    make_saved_view,
    make_task,
    make_user,
    make_user_link,
)
from tests.support.routes import TABLE, caller, send
from tests.support.tables import table

# In the texts of all rows that the agent must not find.
CANARY = "canary"
OWN = "visible"


@pytest.fixture
def world(acme):
    """An account whose agents see their own rows, with rows of Alice, which are hidden from Bob, and rows of Bob."""
    account, alice, bob = acme.account, acme.alice, acme.bob
    account.agents_see = "own"
    account.save()
    contact_list = make_contact_list(alice, "All customers")
    bob = User.objects.get(account_id=account.id, id=bob.id)
    kinds = {}
    for user, label in ((alice, CANARY), (bob, OWN)):
        values = {"responsible_id": user.id, "tags": [f"{label}tag"], "external_ids": {"shop": label}}
        client = make_client(alice, f"{label} client", email=f"{label}@example.com", **values)
        contact = make_contact(alice, f"{label} contact", client_id=client.id, **values)
        contact.write({"contact_list_ids": [contact_list.id]}, by=alice)
        status_id = account.default_status("deal").id
        deal = make_deal(alice, f"{label} deal", client_id=client.id, status_id=status_id, **values)
        task = make_task(alice, f"{label} task", client_id=client.id, responsible_id=user.id, tags=[f"{label}tag"])
        comment = task.comment(by=alice, text=f"{label} comment")
        user_link = make_user_link(alice, make_user(account), client_id=client.id)
        kinds[label] = SimpleNamespace(
            client=client.id,
            contact=contact.id,
            deal=deal.id,
            post=task.id,
            task=task.id,
            comment=comment.id,
            user_link=user_link.id,
        )
    # Links from visible rows to hidden ones show only the id.
    mixed = make_contact(alice, f"{OWN} of hidden client", client_id=kinds[CANARY].client, responsible_id=bob.id)
    kinds[OWN].mixed = mixed.id
    return SimpleNamespace(acme=acme, hidden=kinds[CANARY], own=kinds[OWN], contact_list=contact_list.id)


def bob_of(world) -> User:
    return User.objects.get(account_id=world.acme.account.id, id=world.acme.bob.id)


def json_of(world):
    return world.acme.json(world.acme.bob_token)


LISTS = ("clients", "contacts", "deals", "tasks")
ITEMS = ("client", "contact", "deal", "post")


def test_it_works(world):
    """The agent reads their own rows; the owner reads all. By default, agents read all, too."""
    for kind in LISTS:
        names = {row.get("name") or row["title"] for row in read(json_of(world).get(f"/app/{kind}.json"))}
        assert names
        assert all(name.startswith(OWN) for name in names), kind
        assert CANARY in world.acme.json(world.acme.alice_token).get(f"/app/{kind}.json").text
    for kind in ITEMS:
        assert json_of(world).get(f"/app/{kind}s/{getattr(world.own, kind)}.json").status_code == 200
    world.acme.account.agents_see = "all"
    world.acme.account.save()
    for kind in LISTS:
        assert CANARY in json_of(world).get(f"/app/{kind}.json").text


@table("kind", [*ITEMS, "comment"])
def test_a_hidden_row_is_not_found(world, kind):
    path = f"/app/{'post' if kind == 'comment' else kind}s/{getattr(world.hidden, kind)}.json"
    key = "post" if kind == "comment" else kind
    for method, body in (("GET", None), ("PUT", {key: {"description": "x", "content": "x"}}), ("DELETE", None)):
        response = json_of(world).request(method, path, json=body)
        assert_refused(response, 404, "not_found")


# The ids of `world.hidden` in the paths and bodies of all routes with ids.
def hidden_ids(world):
    return SimpleNamespace(
        **vars(world.hidden),
        contact_list=world.contact_list,
        category_name="General",
        user=world.acme.bob.id,
    )


# Figures that are stored for all rows.
REFUSED = {"app/posts/revenue.json"}
READS = [row for row in TABLE if row.method == "GET" and not row.public and not row.admins_only and not row.owners_only]


@table("row", READS)
def test_no_read_shows_a_hidden_row(world, row):
    bob = bob_of(world)
    bob.token = world.acme.bob_token
    response = send(row, caller(row, world.acme.host, bob), hidden_ids(world), None)
    if row.route in REFUSED:
        assert_refused(response, 403, "forbidden", message=LIMITED)
    else:
        assert response.status_code in (200, 404)
    assert CANARY not in response.text.lower()


def test_no_search_finds_a_hidden_row(world):
    queries = (CANARY, "canari", "canary@example.com", "client", "task", "canari&order=-id")
    found = [
        (kind, query)
        for kind in LISTS
        for query in queries
        if CANARY in json_of(world).get(f"/app/{kind}.json?q={query}").text
    ]
    assert found == []


# The filter, and how many rows the owner finds.
FILTERS = {
    "clients.json?external_ids[shop]=canary": 1,
    "clients.json?email=canary@example.com": 1,
    "clients.json?tag=canarytag": 1,
    "contacts.json?email=canary@example.com": 0,
    "contacts.json?tag=canarytag": 1,
    "deals.json?external_ids[shop]=canary": 1,
    "deals.json?tag=canarytag": 1,
    "tasks.json?tag=canarytag": 1,
}


def test_no_filter_finds_a_hidden_row(world):
    assert {query: read(json_of(world).get(f"/app/{query}")) for query in FILTERS} == {query: [] for query in FILTERS}
    alice = world.acme.json(world.acme.alice_token)
    assert {query: len(read(alice.get(f"/app/{query}"))) for query in FILTERS} == FILTERS


def test_filters_by_the_ids_of_hidden_rows(world):
    hidden = world.hidden
    rows = read(json_of(world).get(f"/app/contacts.json?client_id={hidden.client}"))
    assert [row["id"] for row in rows] == [world.own.mixed]
    rows = read(json_of(world).get(f"/app/contacts.json?contact_list_id={world.contact_list}"))
    assert [row["id"] for row in rows] == [world.own.contact]
    for kind in LISTS:
        assert read(json_of(world).get(f"/app/{kind}.json?responsible_id={world.acme.alice.id}")) == []


def test_counts_leave_out_hidden_rows(world):
    acme = world.acme
    make_contact(acme.alice, client_id=world.own.client, responsible_id=acme.alice.id)
    make_deal(acme.alice, client_id=world.own.client, responsible_id=acme.alice.id)
    make_task(acme.alice, client_id=world.own.client, responsible_id=acme.alice.id)
    for token, number in ((acme.bob_token, 1), (acme.alice_token, 2)):
        row = read(acme.json(token).get(f"/app/clients/{world.own.client}.json"))
        assert [row[f"{kind}_count"] for kind in ("contacts", "posts", "deals")] == [number] * 3
        assert read(acme.json(token).get(f"/app/contact_lists/{world.contact_list}.json"))["contacts_count"] == number
    for kind in ("clients", "contacts", "deals", "posts"):
        tags = read(json_of(world).get(f"/app/{kind}/tags.json"))
        assert [(tag["name"], tag["count"]) for tag in tags] == [(f"{OWN}tag", 1)]
    suggestion = make_post(acme.carol, tags=["visible wish"])
    tools = acme.page(acme.bob).get(f"/app/posts/{suggestion.id}/team").html
    assert {each["value"] for each in tools.select("#tags-in-use option")} == {f"{OWN}tag", "visible wish"}


@table("kind", ["client", "contact", "deal"])
def test_misfits_of_hidden_rows_are_not_counted(world, kind):
    acme = world.acme
    definition = make_field_definition(acme.account, "size", resource=kind, type="number")
    for id in (getattr(world.own, kind), getattr(world.hidden, kind)):
        getattr(acme.account, f"{kind}s").filter(id=id).update(additional_fields={"size": "big"})
    path = f"/app/field_definitions/{definition.id}/misfits.json"
    rows = len(read(json_of(world).get(f"/app/{kind}s.json")))
    assert read(json_of(world).get(path)) == {"count": 1, "compared": rows, "complete": True}
    assert read(acme.json(acme.alice_token).get(path))["count"] == 2


def test_the_change_feed_leaves_out_hidden_rows(world):
    with connection.cursor() as cursor:
        # Record the changes, as a commit does.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    changes = read(json_of(world).get("/app/changes.json"))["changes"]
    ids = {change["id"] for change in changes if change["resource"] in ITEMS}
    assert ids == {world.own.client, world.own.contact, world.own.mixed, world.own.deal, world.own.task}


def test_the_change_feed_leaves_out_events_of_hidden_rows(world):
    for rows in (world.own, world.hidden):
        world.acme.account.posts.get(id=rows.task).write({"closed": True}, by=world.acme.alice)
    connection.check_constraints()
    changes = read(json_of(world).get("/app/changes.json", params={"events": "true"}))["changes"]
    found = {(change["resource"], change["id"]) for change in changes if change["data"] is not None}
    assert {("comment", world.own.comment), ("task", world.own.task)} <= found
    assert not {("comment", world.hidden.comment), ("task", world.hidden.task), ("deal", world.hidden.deal)} & found


@table(
    ("kind", "field", "target"),
    [
        ("contact", "client_id", "client"),
        ("deal", "client_id", "client"),
        ("client", "contact_id", "contact"),
        ("post", "client_id", "client"),
    ],
)
def test_it_rejects_links_to_hidden_rows(world, kind, field, target):
    values = {"name": "New", "title": "New", field: getattr(world.hidden, target)}
    response = json_of(world).post(f"/app/{kind}s.json", json={kind: values})
    assert_refused(response, 422, "validation_failed", {field: ["can't be found"]})
    response = json_of(world).put(f"/app/{kind}s/{getattr(world.own, kind)}.json", json={kind: values})
    assert_refused(response, 422, "validation_failed", {field: ["can't be found"]})


def test_it_keeps_a_link_to_a_hidden_row(world):
    body = {"contact": {"position": "CEO", "client_id": world.hidden.client}}
    response = json_of(world).put(f"/app/contacts/{world.own.mixed}.json", json=body)
    assert response.status_code == 200
    assert read(response)["client_id"] == world.hidden.client


def test_external_ids_of_hidden_rows_are_taken(world):
    """The error does not name the row that has the external id."""
    taken = ["shop canary is already taken"]
    client = json_of(world)
    values = {"name": "New", "external_ids": {"shop": CANARY}}
    for kind in ("client", "deal"):
        response = client.post(f"/app/{kind}s.json", json={kind: values})
        assert_refused(response, 422, "validation_failed", {"external_ids": taken})
        response = client.put(f"/app/{kind}s.json?external_ids[shop]=canary", json={kind: {"name": "New"}})
        assert_refused(response, 422, "validation_failed", {"external_ids": taken})
        results = read(client.post(f"/app/{kind}s/bulk.json", json={f"{kind}s": [values]}))
        assert [(result["status"], result["errors"]) for result in results] == [(422, {"external_ids": taken})]
    response = client.post("/app/clients.json", json={"client": {**values, "try_update": True}})
    assert_refused(response, 422, "validation_failed", {"external_ids": taken})
    results = read(client.post("/app/clients/bulk.json", json={"clients": [{**values, "try_update": True}]}))
    assert results[0]["errors"] == {"external_ids": taken}
    nested = {"deal": {"name": "New", "client": values}}
    assert_refused(
        client.post("/app/deals.json", json=nested), 422, "validation_failed", {"client.external_ids": taken}
    )
    results = read(client.post("/app/deals/bulk.json", json={"deals": [nested["deal"]]}))
    assert results[0]["errors"] == {"client.external_ids": taken}


def test_try_update_does_not_find_a_hidden_client_by_its_email(world):
    body = {"client": {"name": "New", "email": "CANARY@example.com", "try_update": True}}
    response = json_of(world).post("/app/clients.json", json=body)
    assert response.status_code == 201
    assert CANARY not in read(response)["name"]
    results = read(json_of(world).post("/app/clients/bulk.json", json={"clients": [body["client"]]}))
    assert [result["status"] for result in results] == [200]
    assert results[0]["client"]["id"] == read(response)["id"]


@table("kind", ITEMS)
def test_new_rows_belong_to_the_agent(world, kind):
    bob = world.acme.bob
    values = {"name": "New", "title": "New", "task_kind": "task"}
    response = json_of(world).post(f"/app/{kind}s.json", json={kind: values})
    assert (response.status_code, read(response)["responsible_id"]) == (201, bob.id)
    path = f"/app/{kind}s/{read(response)['id']}.json"
    response = json_of(world).put(path, json={kind: {"responsible_id": None}})
    assert (response.status_code, read(response)["responsible_id"]) == (200, bob.id)
    assert "X-Handed-Over" not in response.headers
    response = json_of(world).put(path, json={kind: {"responsible_id": world.acme.alice.id}})
    assert (response.status_code, response.headers["X-Handed-Over"]) == (200, "true")
    assert json_of(world).get(path).status_code == 404


def test_comments_on_hidden_tasks_are_rejected(world):
    body = {"post": {"task_kind": "comment", "post_id": world.hidden.task, "content": "x"}}
    response = json_of(world).post("/app/posts.json", json=body)
    assert_refused(response, 422, "validation_failed", {"post_id": ["can't be found"]})
    response = json_of(world).get(f"/app/posts/{world.hidden.task}/comments.json")
    assert_refused(response, 404, "not_found")


def test_the_group_sees_the_rows_of_its_users(world):
    account = world.acme.account
    group = Group.objects.create(account=account, name="Sales")
    account.users.filter(id__in=[world.acme.alice.id, world.acme.bob.id]).update(group_id=group.id)
    for kind in LISTS:
        assert CANARY in json_of(world).get(f"/app/{kind}.json").text
    for kind in ITEMS:
        assert json_of(world).get(f"/app/{kind}s/{getattr(world.hidden, kind)}.json").status_code == 200
    group.delete()
    assert_refused(json_of(world).get(f"/app/clients/{world.hidden.client}.json"), 404, "not_found")


@table("name", ["alice", "bob"])
def test_a_read_takes_as_many_statements_as_without_a_limit(world, django_assert_num_queries, name):
    client, path = world.acme.json(getattr(world.acme, f"{name}_token")), f"/app/clients/{world.own.client}.json"
    client.get(path)
    with django_assert_num_queries(2):
        assert client.get(path).status_code == 200


# Pages

PAGE_ROUTES = sorted(route for route, methods in page_routes.ROUTES.items() if "get" in methods)


@pytest.fixture
def pages(world):
    """The ids for the paths of pages, by the segment of the path before the id: of rows of Alice, and of rows of Bob."""
    acme, found = world.acme, {}
    for user, label, rows in ((acme.alice, CANARY, world.hidden), (bob_of(world), OWN, world.own)):
        account = acme.account
        values = {"responsible_id": user.id}
        merged = [make_client(acme.alice, f"{label} merged", **values).id for _ in range(2)]
        change = {"resource": "client", "action": "add_tags", "data": {"tags": [f"{label}tag"]}, "query": ""}
        found[label] = {
            "authors": user.id,
            "posts": rows.task,
            "tasks": rows.task,
            "comments": rows.comment,
            "clients": rows.client,
            "contacts": rows.contact,
            "deals": rows.deal,
            "notes": make_note(user, f"{label} note", client_id=rows.client).id,
            "merges": account.merges.merge(account, "client", *merged, {}, by=acme.alice).id,
            "bulk_changes": BulkChange.start(account, by=user, ids=[rows.client], **change).id,
            "imports": make_import(user, f"Name\n{label} imported\n", name=f"{label}.csv").id,
            "exports": Export.start(
                account, by=user, resource="client", query=f"q={label}", options={"language": "en"}
            ).id,
            "attachments": make_attachment(user, "client", account.clients.get(id=rows.client), f"{label}.txt").id,
            "messages": make_message(user, f"{label} message").id,
            "views": make_saved_view(user, f"{label} view", shared=False).id,
            # These are the same for the whole team, or for admins alone.
            "categories": account.categories.get().id,
            "forums": account.forums.get().id,
            "answers": make_answer(make_post(acme.carol), acme.alice).id,
            "statuses": account.default_status("post").id,
            "users": acme.carol.id,
            **dict.fromkeys(
                ("tokens", "contact_lists", "fields", "pipelines", "groups", "webhooks", "saved_replies"), 1
            ),
            "category_name": "General",
        }
    return found


@table("route", PAGE_ROUTES)
def test_no_page_shows_a_hidden_row(world, pages, route):
    """The page of a hidden row is not found, and no other page shows one."""
    page = world.acme.page(world.acme.bob)
    # Agents see every suggestion, with the tools of the team.
    suggestion = make_post(world.acme.carol)
    paths = {page_routes.path_of(route, ids) for ids in (*pages.values(), {**pages[OWN], "posts": suggestion.id})}
    # Only lists have a search.
    for path in paths | ({f"{path}?q=canari" for path in paths} if "<" not in route else set()):
        response = page.get(path, expect_errors=True)
        assert response.status_code < 500
        # A page has the time zone of the Canary Islands.
        text = response.body.decode(errors="replace").lower()
        assert CANARY not in text.replace("atlantic/canary", "")


RECORD_PAGES = [
    route
    for route in PAGE_ROUTES
    if any(route.startswith(f"app/{kind}/<id:id>") for kind in ("clients", "contacts", "deals", "tasks"))
    # No agent has the file about a person.
    and not route.endswith("/data")
]


@table("route", RECORD_PAGES)
def test_the_pages_of_a_hidden_row_are_not_found(world, pages, route):
    world.acme.page(world.acme.bob).get(page_routes.path_of(route, pages[CANARY]), status=404)


def test_the_owner_finds_the_rows_on_the_pages(world, pages):
    """The rows that the tests above look for are on the pages."""
    page = world.acme.page(world.acme.alice)
    for path in ("clients", "contacts", "deals", "tasks/list", "deals/board", f"clients/{world.hidden.client}"):
        assert CANARY in page.get(f"/app/{path}").text.lower(), path
