"""Writes that link to a row in the trash: the link is null until the row is restored."""

from datetime import timedelta
from functools import partial

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from crm.clients.models import Client
from tests.support.assertions import assert_refused, read
from tests.support.factories import make_client, make_contact, make_contact_list, make_deal, make_post, make_task
from tests.support.jobs import run_housekeeping
from tests.support.tables import table
from tests.support.threads import at_once, while_held

# (kind of the linking row, its other values, the field, the factory of the linked row)
LINKS = {
    "contact of client": ("contact", {"name": "a"}, "client_id", make_client),
    "deal of client": ("deal", {"name": "a"}, "client_id", make_client),
    "task of client": ("post", {"title": "a", "task_kind": "task"}, "client_id", make_client),
    "post of client": ("post", {"title": "a"}, "client_id", make_client),
    "client with main contact": ("client", {"name": "a"}, "contact_id", make_contact),
    "contact in list": ("contact", {"name": "a"}, "contact_list_ids", make_contact_list),
    "comment on post": ("post", {"task_kind": "comment", "content": "a"}, "post_id", make_post),
    "comment on task": ("post", {"task_kind": "comment", "content": "a"}, "post_id", make_task),
}
MAKE = {"client": make_client, "contact": make_contact, "deal": make_deal, "post": make_post}
every_link = table("link", LINKS)


def make_trashed(acme, make=make_client):
    row = make(acme.alice)
    row.trash(by=acme.alice)
    return row


def restore(acme, row):
    response = acme.json(acme.alice_token).post(f"/app/trash/{row.id}/restore.json")
    assert response.status_code == 200, response.text


def link_to(field: str, id: int):
    """Return the value of the field that links to this id."""
    return [id] if field.endswith("_ids") else id


def empty_link(field: str):
    return [] if field.endswith("_ids") else None


def post(acme, kind, headers=None, /, **values):
    return acme.json().post(f"/app/{kind}s.json", json={kind: values}, headers=headers or {})


def put(acme, kind, row_id, /, **values):
    return acme.json().put(f"/app/{kind}s/{row_id}.json", json={kind: values})


def get(acme, kind, row_id):
    return read(acme.json().get(f"/app/{kind}s/{row_id}.json"))


@every_link
def test_it_works(acme, link):
    kind, values, field, make = LINKS[link]
    trashed = make_trashed(acme, make)
    response = post(acme, kind, **values, **{field: link_to(field, trashed.id)})
    assert (response.status_code, response.headers["X-Pending-Links"]) == (201, field)
    created = read(response)
    assert created[field] == empty_link(field)
    restore(acme, trashed)
    assert get(acme, kind, created["id"])[field] == link_to(field, trashed.id)
    # Later responses have no such header.
    assert "X-Pending-Links" not in acme.json().get(f"/app/{kind}s/{created['id']}.json").headers


@every_link
def test_it_rejects_ids_that_do_not_exist_and_ids_of_other_accounts(acme, other, link):
    kind, values, field, make = LINKS[link]
    other_row = make(other.mallory)
    other_row.trash(by=other.mallory)
    for id in (other_row.id + 10**6, 10**15):
        type(other_row).objects.filter(pk=other_row.pk).update(id=id)
        other_row.id = id
        rule = f"{id} can't be found" if field.endswith("_ids") else "can't be found"
        with CaptureQueriesContext(connection) as queries:
            response = post(acme, kind, **values, **{field: link_to(field, id)})
        assert_refused(response, 422, "validation_failed", {field: [rule]})
        # The statements are the same for an existing row, a row in the trash and no row. The post of a comment is locked later.
        found = [query["sql"] for query in queries if f'FROM "{other_row._meta.db_table}"' in query["sql"]]
        assert any("FOR " in sql for sql in found) != link.startswith("comment")
        assert found


@table("kind", ["contact", "deal", "post"])
def test_an_update_may_link_to_a_trashed_row(acme, kind):
    """Sending the whole row back keeps the pending link. Another link cancels it."""
    live, trashed, cancelled = make_client(acme.alice), make_trashed(acme), make_trashed(acme)
    row = MAKE[kind](acme.alice, client_id=live.id)
    response = put(acme, kind, row.id, client_id=trashed.id)
    assert (response.status_code, response.headers["X-Pending-Links"]) == (200, "client_id")
    body = read(response)
    assert body["client_id"] is None
    assert put(acme, kind, row.id, **body).status_code == 200
    restore(acme, trashed)
    assert get(acme, kind, row.id)["client_id"] == trashed.id
    put(acme, kind, row.id, client_id=cancelled.id)
    response = put(acme, kind, row.id, client_id=live.id)
    assert "X-Pending-Links" not in response.headers
    put(acme, kind, row.id, client_id=None)
    restore(acme, cancelled)
    assert get(acme, kind, row.id)["client_id"] is None


def test_the_last_of_two_pending_links_wins(acme):
    first, last = make_trashed(acme), make_trashed(acme)
    deal = make_deal(acme.alice)
    put(acme, "deal", deal.id, client_id=first.id)
    put(acme, "deal", deal.id, client_id=last.id)
    restore(acme, first)
    assert get(acme, "deal", deal.id)["client_id"] is None
    restore(acme, last)
    assert get(acme, "deal", deal.id)["client_id"] == last.id


def test_the_linking_row_may_be_trashed_too(acme):
    trashed, deal = make_trashed(acme), make_deal(acme.alice)
    put(acme, "deal", deal.id, client_id=trashed.id)
    deal.refresh_from_db()
    deal.trash(by=acme.alice)
    restore(acme, trashed)
    restore(acme, deal)
    assert get(acme, "deal", deal.id)["client_id"] == trashed.id


def test_a_nested_client_cancels_a_pending_link(acme):
    trashed, deal = make_trashed(acme), make_deal(acme.alice)
    put(acme, "deal", deal.id, client_id=trashed.id)
    client_id = read(put(acme, "deal", deal.id, client={"name": "Ann"}))["client_id"]
    restore(acme, trashed)
    assert get(acme, "deal", deal.id)["client_id"] == client_id != trashed.id


def test_only_the_links_to_trashed_contact_lists_are_pending(acme):
    live, trashed = make_contact_list(acme.alice), make_trashed(acme, make_contact_list)
    client = make_trashed(acme)
    response = post(acme, "contact", name="a", client_id=client.id, contact_list_ids=[trashed.id, live.id])
    assert response.headers["X-Pending-Links"] == "client_id,contact_list_ids"
    assert read(response)["contact_list_ids"] == [live.id]
    restore(acme, trashed)
    contact = read(response)
    assert get(acme, "contact", contact["id"])["contact_list_ids"] == [live.id, trashed.id]
    assert get(acme, "contact_list", trashed.id)["contacts_count"] == 1


def test_a_pending_link_is_removed_when_its_target_is_erased(acme):
    trashed, deal = make_trashed(acme), make_deal(acme.alice)
    put(acme, "deal", deal.id, client_id=trashed.id)
    Client.objects.filter(pk=trashed.pk).update(trashed_at=timezone.now() - timedelta(days=31))
    run_housekeeping()
    deal.refresh_from_db()
    assert (deal.client_id, deal.trashed_client_id) == (None, None)
    errors = {"client_id": ["can't be found"]}
    assert_refused(put(acme, "deal", deal.id, client_id=trashed.id), 422, "validation_failed", errors)


def test_pending_links_in_bulk_creates(acme):
    trashed, live = make_trashed(acme), make_client(acme.alice)
    items = [{"name": "a", "client_id": id} for id in (trashed.id, live.id, 10**15)]
    response = acme.json().post("/app/deals/bulk.json", json={"deals": items})
    results = read(response)
    assert [result["status"] for result in results] == [201, 201, 422]
    assert [result.get("pending_links") for result in results] == [["client_id"], None, None]
    assert response.headers["X-Pending-Links"] == "client_id"
    restore(acme, trashed)
    assert get(acme, "deal", results[0]["deal"]["id"])["client_id"] == trashed.id


def test_pending_links_in_upserts(acme):
    trashed, contact = make_trashed(acme), make_trashed(acme, make_contact)
    for _ in range(2):
        body = {"deal": {"name": "a", "client_id": trashed.id}}
        response = acme.json().put("/app/deals.json?external_ids[shop]=1", json=body)
        assert response.headers["X-Pending-Links"] == "client_id"
    for _ in range(2):
        response = post(acme, "client", name="a", email="a@example.com", contact_id=contact.id, try_update=True)
        assert response.headers["X-Pending-Links"] == "contact_id"


def test_an_idempotent_replay_reports_pending_links(acme):
    trashed = make_trashed(acme)
    for replayed in (None, "true"):
        response = post(acme, "deal", {"Idempotency-Key": "1"}, name="a", client_id=trashed.id)
        assert response.headers.get("Idempotent-Replayed") == replayed
        assert response.headers["X-Pending-Links"] == "client_id"
    assert acme.account.deals.count() == 1


def test_a_nested_client_is_created_again_if_the_existing_one_is_in_the_trash(acme):
    trashed = make_client(acme.alice, external_ids={"shop": "17"})
    trashed.trash(by=acme.alice)
    deal = read(post(acme, "deal", name="a", client={"external_ids": {"shop": 17}}))
    restore(acme, trashed)
    assert get(acme, "deal", deal["id"])["client_id"] == deal["client_id"] != trashed.id
    assert get(acme, "client", trashed.id)["external_ids"] == {}


@table("link", ["deal of client", "comment on post"])
def test_a_pending_link_takes_no_more_statements_than_another_link(acme, link):
    kind, values, field, make = LINKS[link]
    counts = []
    for row in (make(acme.alice), make_trashed(acme, make), make_trashed(acme, make)):
        with CaptureQueriesContext(connection) as queries:
            post(acme, kind, **values, **{field: link_to(field, row.id)})
        counts.append(len(queries))
    assert counts[1] == counts[2] <= counts[0]


@pytest.mark.django_db(transaction=True)
def test_a_write_during_the_restore_of_its_target(acme):
    """The write waits for the restore, and then links the row."""
    client = acme.json()
    for kind in ("contact", "deal", "post"):
        trashed, row = make_trashed(acme), MAKE[kind](acme.alice)
        path, body = f"/app/{kind}s/{row.id}.json", {kind: {"client_id": trashed.id}}
        write = partial(client.put, path, json=body)
        response = while_held(trashed, lambda locked_row: locked_row.restore(), write)
        assert (response.status_code, read(response)["client_id"]) == (200, trashed.id), kind
        assert "X-Pending-Links" not in response.headers


@pytest.mark.django_db(transaction=True)
def test_simultaneous_writes_and_restores(acme):
    """In either order, the row is linked in the end."""
    for _ in range(4):
        trashed = make_trashed(acme)
        clients = [acme.json() for _ in range(3)]

        def restore_client(trashed=trashed):
            with transaction.atomic():
                Client.objects.locked().get(pk=trashed.pk).restore()

        requests = [
            lambda client=client, trashed=trashed: client.post(
                "/app/deals.json", json={"deal": {"name": "a", "client_id": trashed.id}}
            )
            for client in clients
        ]
        *responses, _ = at_once(*requests, restore_client)
        assert [response.status_code for response in responses] == [201] * 3
        assert get(acme, "client", trashed.id)["deals_count"] == 3
