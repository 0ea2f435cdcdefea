"""The trash for admins, and restoring rows."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from core.registry import registry
from core.rows.trash import trash_contents
from crm.clients.models import Client
from crm.deals.models import Deal
from tests.support.assertions import assert_answered, assert_refused, on_the_wire, read
from tests.support.factories import make_client, make_contact, make_contact_list, make_deal, make_post, make_task

MAKE = {
    "client": make_client,
    "contact": make_contact,
    "contact_list": make_contact_list,
    "deal": make_deal,
    "post": make_post,
    "task": make_task,
}
URL = "http://acme.example.test/app/trash.json"


@pytest.fixture
def admin(acme):
    return acme.json(acme.alice_token)


def restore(client, row, query=""):
    return client.post(f"/app/trash/{row.id}/restore.json{query}")


def entry(row, kind, name, by) -> dict:
    return {
        "id": row.id,
        "resource": kind.replace("task", "post"),
        "name": name,
        "trashed_at": on_the_wire(row.trashed_at),
        "trashed_by_id": by.id,
    }


def fill_trash(acme) -> list[dict]:
    """Trash one row of each kind, an hour after each other, and return the expected entries, newest first."""
    entries = []
    for hours, (kind, make) in enumerate(MAKE.items()):
        # A row that is not in the trash.
        make(acme.alice)
        row = make(acme.alice, f"My {kind}")
        row.trash(by=acme.bob)
        row.trashed_at = timezone.now() - timedelta(hours=9 - hours)
        row.save(update_fields=["trashed_at"])
        entries.insert(0, entry(row, kind, f"My {kind}", acme.bob))
    return entries


def test_it_works(acme, admin):
    entries = fill_trash(acme)
    assert_answered(admin.get("/app/trash.json"), 200, entries, link=f'<{URL}?page=1>; rel="first"')
    first = entries[0]
    response = admin.post(f"/app/trash/{first['id']}/restore.json")
    assert_answered(response, 200, read(acme.json().get(f"/app/posts/{first['id']}.json")))
    assert read(admin.get("/app/trash.json")) == entries[1:]


def test_it_rejects_rows_that_are_not_in_the_trash(acme, admin):
    client = make_client(acme.alice)
    assert_refused(restore(admin, client), 404, "not_found")
    assert_refused(admin.post(f"/app/trash/{10**15}/restore.json"), 404, "not_found")
    client.trash(by=acme.alice)
    assert_refused(restore(admin, client, "?resource=deal"), 404, "not_found")


def test_it_rejects_an_unknown_resource(acme, admin):
    errors = {"resource": [f"is not one of {', '.join(sorted(registry.trashable()))}"]}
    assert_refused(admin.get("/app/trash.json?resource=task"), 422, "validation_failed", errors)
    assert_refused(admin.post("/app/trash/1/restore.json?resource=task"), 422, "validation_failed", errors)


def test_it_rejects_other_parameters(admin):
    response = admin.get("/app/trash.json?order=id", headers={"Prefer": "handling=strict"})
    errors = {"order": ["is not one of the parameters page, per_page, resource"]}
    assert_refused(response, 422, "validation_failed", errors)


def test_pages_and_filter_by_resource(acme, admin):
    entries = fill_trash(acme)
    response = admin.get("/app/trash.json?per_page=4")
    assert read(response) == entries[:4]
    assert response.headers["Link"] == f'<{URL}?per_page=4&page=1>; rel="first", <{URL}?per_page=4&page=2>; rel="next"'
    assert read(admin.get("/app/trash.json?per_page=4&page=2")) == entries[4:]
    assert read(admin.get("/app/trash.json?per_page=4&page=3")) == []
    posts = [item for item in entries if item["resource"] == "post"]
    assert read(admin.get("/app/trash.json?resource=post")) == posts
    assert len(posts) == 2


def test_it_rejects_an_ambiguous_id(acme, admin):
    """Rows that were imported from another server may share an id."""
    client, deal = make_client(acme.alice), make_deal(acme.alice)
    for row in (client, deal):
        row.trash(by=acme.alice)
    Deal.objects.filter(pk=deal.pk).update(id=client.id)
    errors = {"resource": ["must say which is meant: client, deal"]}
    assert_refused(restore(admin, client), 422, "validation_failed", errors)
    response = restore(admin, client, "?resource=deal")
    assert (response.status_code, read(response)["name"]) == (200, deal.name)
    # Only one of the two is still in the trash, so the id is no longer ambiguous.
    assert read(restore(admin, client))["name"] == client.name


def test_it_rejects_a_contact_list_whose_name_was_taken(acme, admin):
    trashed = make_contact_list(acme.alice, "News")
    trashed.trash(by=acme.alice)
    other = make_contact_list(acme.alice, "News")
    errors = {"name": [f"was given to contact list {other.id} meanwhile; rename that one first"]}
    assert_refused(restore(admin, trashed), 422, "validation_failed", errors)
    admin.put(f"/app/contact_lists/{other.id}.json", json={"contact_list": {"name": "More"}})
    assert read(restore(admin, trashed))["name"] == "News"


def test_the_trash_is_read_from_indexes(acme):
    """Each kind is read from its index, and no further than the end of the page."""
    client = make_client(acme.alice)
    Client.objects.filter(pk=client.pk).update(trashed_at=timezone.now(), trashed_by_id=acme.alice.id)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
    plan = trash_contents(acme.account, {"client": Client, "deal": Deal}, limit=26)[:26].explain()
    assert "client_trash" in plan
    assert "deal_trash" in plan
    assert "Seq Scan" not in plan
