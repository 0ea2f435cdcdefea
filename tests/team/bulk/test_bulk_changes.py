"""Bulk changes: actions on many rows, their undo, and what they leave alone."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from accounts.account.models import AgentsSee
from accounts.statuses.models import Status
from core.changes.models import Change
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.deals.models import Deal
from team.batches.models import process_part
from team.bulk.models import BulkChange, BulkChangeRow
from tests.support.assertions import assert_refused, read
from tests.support.factories import make_client, make_contact, make_contact_list, make_deal, make_field_definition
from tests.support.jobs import run_housekeeping, run_jobs
from tests.support.queries import capture_queries
from tests.support.tables import table

PATH = "/app/bulk_changes.json"


def start(json, **values):
    return json.post(PATH, json={"bulk_change": {"resource": "client", **values}})


def started(json, **values) -> dict:
    response = start(json, **values)
    assert response.status_code == 201, response.text
    return read(response)


def undo(json, change: dict):
    return json.post(f"/app/bulk_changes/{change['id']}/undo.json")


def counts(change: dict) -> dict[str, int]:
    names = ("total", "changed", "unchanged", "skipped", "restored", "kept")
    return {name: change[name] for name in names if change[name]}


@pytest.fixture
def clients(acme) -> list[Client]:
    return [make_client(acme.alice, f"Client {number}", tags=["old"]) for number in range(3)]


@pytest.fixture
def small_batches(monkeypatch):
    """Have changes of more than two rows run in a job, with two rows in a batch."""
    monkeypatch.setattr(BulkChange, "PART_SIZE", 2)


def number_in_feed(acme) -> int:
    """Return how often clients were updated, as the change feed says. Its triggers are deferred until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
    return Change.objects.filter(account=acme.account, resource="client", change="updated").count()


def ids_of(rows) -> list[int]:
    return [row.id for row in rows]


def responsible(rows) -> list[int | None]:
    return list(
        type(rows[0]).objects.filter(id__in=ids_of(rows)).order_by("id").values_list("responsible_id", flat=True)
    )


def test_it_works(acme, clients):
    Client.objects.filter(id=clients[1].id).update(responsible_id=acme.alice.id)
    Client.objects.filter(id=clients[2].id).update(responsible_id=acme.bob.id)
    before = number_in_feed(acme)
    change = started(acme.json(), action="set_responsible", ids=ids_of(clients), responsible_id=acme.bob.id)
    stored = BulkChange.objects.get(id=change["id"])
    times = {name: change.pop(name) for name in ("created_at", "updated_at", "finished_at")}
    assert all(times.values())
    assert change == {
        "id": stored.id,
        "resource": "client",
        "action": "set_responsible",
        "query": None,
        "responsible_id": acme.bob.id,
        "status_id": None,
        "tags": [],
        "contact_list_id": None,
        "fields": None,
        "state": "done",
        "failure": None,
        "total": 3,
        "changed": 2,
        "unchanged": 1,
        "skipped": 0,
        "restored": 0,
        "kept": 0,
        "author_id": acme.bob.id,
        "undone_by_id": None,
        "undone_at": None,
        "left_alone": [],
    }
    assert responsible(clients) == [acme.bob.id] * 3
    assert number_in_feed(acme) == before + 2
    undone = read(undo(acme.json(), change))
    assert (undone["state"], undone["undone_by_id"]) == ("undone", acme.bob.id)
    assert counts(undone) == {"total": 3, "changed": 2, "unchanged": 1, "restored": 2}
    assert responsible(clients) == [None, acme.alice.id, acme.bob.id]
    assert number_in_feed(acme) == before + 4


@pytest.mark.parametrize("number", [2, 6])
def test_the_number_of_statements_does_not_depend_on_the_number_of_rows(acme, number):
    rows = [make_client(acme.alice, f"Client {number}", tags=["old"]) for number in range(number)]
    json = acme.json()
    json.get("/app/clients.json")
    response, queries = capture_queries(lambda: start(json, action="add_tags", ids=ids_of(rows), tags=["new"]))
    assert response.status_code == 201
    assert len(queries) == 13
    change = read(response)
    response, queries = capture_queries(lambda: undo(json, change))
    assert counts(read(response)) == {"total": number, "changed": number, "restored": number}
    assert len(queries) == 12


def test_status_of_deals(acme):
    deals = [make_deal(acme.alice, f"Deal {number}") for number in range(2)]
    status = acme.account.statuses.filter(kind=Status.Kind.DEAL).first()
    values, rows = {"resource": "deal", "action": "set_status", "ids": ids_of(deals)}, Deal.objects.order_by("id")
    change = started(acme.json(), **values, status_id=status.id)
    assert counts(change)["changed"] == 2
    assert [deal.status_id for deal in rows.all()] == [status.id] * 2
    read(undo(acme.json(), change))
    assert [deal.status_id for deal in rows.all()] == [None, None]
    other_kind = acme.account.statuses.create(kind=Status.Kind.CLIENT, code="hot", name="Hot")
    response = start(acme.json(), **values, status_id=other_kind.id)
    assert_refused(response, 422, "validation_failed", {"status_id": ["can't be found"]})


def test_tags_are_added_and_removed(acme, clients):
    json, full = acme.json(), make_client(acme.alice, "Full", tags=["old", *(f"tag {number}" for number in range(99))])
    added = started(json, action="add_tags", ids=[*ids_of(clients), full.id], tags=["OLD", "new"])
    assert added["left_alone"] == [
        {"resource": "client", "id": full.id, "name": "Full", "result": "too_many_tags", "fields": []}
    ]
    full.write({"tags": []}, by=acme.alice)
    rows = acme.account.clients.exclude(id=full.id).order_by("id")
    assert [client.tags for client in rows.all()] == [["old", "new"]] * 3
    removed = started(json, action="remove_tags", ids=ids_of(clients), tags=["old", "unknown"])
    assert [client.tags for client in rows.all()] == [["new"]] * 3
    # Another user changes the tags of one client meanwhile.
    other = acme.account.clients.select_for_update().get(id=clients[0].id)
    other.write({"tags": ["new", "extra"]}, by=acme.alice)
    assert counts(read(undo(json, removed)))["restored"] == 3
    assert counts(read(undo(json, added)))["restored"] == 3
    assert [client.tags for client in rows.all()] == [["extra", "old"], ["old"], ["old"]]
    assert {row["name"]: row["count"] for row in acme.account.tags.in_use("client")} == {"old": 3, "extra": 1}


def test_contact_lists(acme):
    newsletter, fair = make_contact_list(acme.alice, "Newsletter"), make_contact_list(acme.alice, "Fair")
    contacts = [make_contact(acme.alice, contact_list_ids=ids) for ids in ([], [], [newsletter.id, fair.id])]
    values = {"resource": "contact", "ids": ids_of(contacts), "contact_list_id": newsletter.id}
    rows = Contact.objects.with_list_ids().order_by("id")
    change = started(acme.json(), **values, action="add_to_contact_list")
    assert counts(change) == {"total": 3, "changed": 2, "unchanged": 1}
    assert acme.account.contact_lists.with_counts().get(id=newsletter.id).contacts_count == 3
    assert read(undo(acme.json(), change))["restored"] == 2
    assert [row.contact_list_ids for row in rows.all()] == [[], [], [newsletter.id, fair.id]]
    change = started(acme.json(), **values, action="remove_from_contact_list")
    assert counts(change) == {"total": 3, "changed": 1, "unchanged": 2}
    assert [row.contact_list_ids for row in rows.all()] == [[], [], [fair.id]]
    assert read(undo(acme.json(), change))["restored"] == 1
    assert [row.contact_list_ids for row in rows.all()] == [[], [], [newsletter.id, fair.id]]
    # A list that went to the trash since can't be restored.
    change = started(acme.json(), **values, action="remove_from_contact_list")
    newsletter.trash(by=acme.alice)
    assert counts(read(undo(acme.json(), change))) == {"total": 3, "changed": 1, "unchanged": 2, "kept": 1}
    response = start(acme.json(), **values, action="add_to_contact_list")
    assert_refused(response, 422, "validation_failed", {"contact_list_id": ["can't be found"]})


def test_trash_and_restore(acme, clients):
    contact = make_contact(acme.alice, client_id=clients[0].id)
    change = started(acme.json(), action="trash", ids=ids_of(clients))
    assert not acme.account.clients.live().exists()
    contact.refresh_from_db()
    assert contact.client_id is None
    # An admin restores one client, and somebody moves it to the trash again.
    one = acme.account.clients.get(id=clients[1].id)
    one.restore()
    one.trash(by=acme.alice)
    undone = read(undo(acme.json(), change))
    assert (undone["state"], counts(undone)) == ("undone", {"total": 3, "changed": 3, "restored": 2, "kept": 1})
    assert undone["left_alone"] == [
        {"resource": "client", "id": one.id, "name": one.name, "result": "changed_since", "fields": []}
    ]
    contact.refresh_from_db()
    assert contact.client_id == clients[0].id


def test_rows_that_cannot_be_changed_are_named(acme, clients):
    clients[1].trash(by=acme.alice)
    change = started(
        acme.json(), action="set_responsible", ids=[*ids_of(clients), 10**12], responsible_id=acme.alice.id
    )
    assert counts(change) == {"total": 4, "changed": 2, "skipped": 2}
    assert change["left_alone"] == [
        {"resource": "client", "id": clients[1].id, "name": clients[1].name, "result": "in_trash", "fields": []},
        {"resource": "client", "id": 10**12, "name": None, "result": "not_found", "fields": []},
    ]
    assert read(acme.json().get(f"/app/bulk_changes/{change['id']}.json")) == change


def test_undo_leaves_values_alone_that_others_changed_since(acme, clients):
    Client.objects.filter(id=clients[2].id).update(responsible_id=acme.carol.id)
    change = started(acme.json(), action="set_responsible", ids=ids_of(clients), responsible_id=acme.bob.id)
    Client.objects.filter(id=clients[0].id).update(responsible_id=acme.alice.id)
    clients[1].refresh_from_db()
    clients[1].trash(by=acme.alice)
    undone = read(undo(acme.json(), change))
    assert counts(undone) == {"total": 3, "changed": 3, "restored": 1, "kept": 2}
    left_alone = [(clients[0].id, "changed_since"), (clients[1].id, "in_trash")]
    assert [(row["id"], row["result"]) for row in undone["left_alone"]] == left_alone
    assert responsible(clients) == [acme.alice.id, acme.bob.id, acme.carol.id]


def test_a_previous_value_that_no_longer_exists_is_reported(acme, clients):
    hot, cold = (
        acme.account.statuses.create(kind=Status.Kind.CLIENT, code=code, name=code) for code in ("hot", "cold")
    )
    Client.objects.filter(id=clients[0].id).update(status_id=hot.id)
    change = started(acme.json(), action="set_status", ids=ids_of(clients), status_id=cold.id)
    hot.delete()
    undone = read(undo(acme.json(), change))
    assert [(row["id"], row["result"]) for row in undone["left_alone"]] == [(clients[0].id, "value_gone")]


def test_a_second_undo_conflicts(acme, clients):
    change = started(acme.json(), action="trash", ids=[10**12])
    assert undo(acme.json(), change).status_code == 409
    change = started(acme.json(), action="set_responsible", ids=ids_of(clients), responsible_id=acme.bob.id)
    assert undo(acme.json(), change).status_code == 200
    assert undo(acme.json(), change).status_code == 409
    nothing = started(acme.json(), action="set_responsible", ids=[10**12], responsible_id=acme.bob.id)
    assert undo(acme.json(), nothing).status_code == 409


def test_a_repeated_request_changes_once(acme, clients):
    headers = {"Idempotency-Key": "once"}
    body = {"bulk_change": {"resource": "client", "action": "add_tags", "ids": ids_of(clients), "tags": ["new"]}}
    first, second = (acme.json().post(PATH, json=body, headers=headers) for _ in range(2))
    assert read(first) == read(second)
    assert BulkChange.objects.count() == 1


BOTH, IDS = "must be given, or else a query, but not both", "must be a list of ids"


def test_it_rejects_invalid_input(acme, clients, monkeypatch):
    for values, field, rule in (
        ({"action": "trash", "ids": []}, "ids", "can't be blank"),
        ({"action": "trash"}, "ids", BOTH),
        ({"action": "trash", "ids": [1], "query": ""}, "ids", BOTH),
        *(({"action": "trash", "ids": [id]}, "ids", IDS) for id in ("x", 0, [1], 2**63)),
        ({"action": "trash", "ids": [1] * 1001}, "ids", "are too many (maximum is 1000)"),
        ({"action": "trash", "query": "shoe=7"}, "query.shoe", "is not a filter of this list"),
        ({"action": "trash", "query": "name=nobody"}, "query", "matches no rows"),
        ({"action": "set_responsible", "ids": [1]}, "responsible_id", "can't be blank"),
        ({"action": "set_responsible", "ids": [1], "responsible_id": 10**15}, "responsible_id", "can't be found"),
        ({"action": "add_tags", "ids": [1], "tags": []}, "tags", "can't be blank"),
        (
            {"resource": "deal", "action": "add_to_contact_list", "ids": [1]},
            "action",
            "is not one of set_responsible, set_status, set_fields, add_tags, remove_tags, trash",
        ),
        ({"resource": "post", "action": "trash", "ids": [1]}, "resource", "is not one of client, contact, deal"),
    ):
        assert_refused(start(acme.json(), **values), 422, "validation_failed", {field: [rule]})
    monkeypatch.setattr("team.bulk.api.MAX_ROWS", 2)
    response = start(acme.json(), action="trash", query="")
    assert_refused(response, 422, "validation_failed", {"query": ["matches too many rows (maximum is 2)"]})
    assert not BulkChange.objects.exists()


def test_a_query_selects_all_rows_that_match(acme, clients):
    make_client(acme.alice, "Other", city="Kraków")
    change = started(acme.json(), action="add_tags", query="city__empty=true&sort=name", tags=["nowhere"])
    assert (change["total"], change["query"]) == (3, "city__empty=true&sort=name")
    found = started(acme.json(), action="add_tags", query="q=Other", tags=["found"])
    assert found["total"] == 1


def test_a_large_change_runs_in_a_job(acme, clients, small_batches):
    change = started(acme.json(), action="add_tags", ids=ids_of(clients), tags=["new"])
    assert (change["state"], change["changed"], change["finished_at"]) == ("running", 0, None)
    assert undo(acme.json(), change).status_code == 409
    run_jobs()
    path, rows = f"/app/bulk_changes/{change['id']}.json", Client.objects.order_by("id")
    done = read(acme.json().get(path))
    assert (done["state"], counts(done)) == ("done", {"total": 3, "changed": 3})
    # A job that is repeated repeats nothing.
    before = list(rows.values_list("updated_at", flat=True))
    assert not process_part("BulkChange", acme.account.id, change["id"])
    assert list(rows.values_list("updated_at", flat=True)) == before
    assert read(acme.json().get(path)) == done
    assert read(undo(acme.json(), change))["state"] == "undoing"
    assert undo(acme.json(), change).status_code == 409
    run_jobs()
    assert read(acme.json().get(path))["state"] == "undone"
    assert [client.tags for client in rows.all()] == [["old"]] * 3


@table(("action", "data"), [("set_responsible", True), ("trash", False)])
def test_each_row_of_many_batches_gets_its_own_values_back(acme, monkeypatch, action, data):
    # The last batch is incomplete.
    monkeypatch.setattr(BulkChange, "PART_SIZE", 4)
    for number in range(13):
        user_id = (acme.alice.id, acme.bob.id, None)[number % 3]
        make_client(acme.alice, f"Client {number}", tags=["old"] * (number % 2), responsible_id=user_id)
    rows = Client.objects.order_by("id").values_list("id", "responsible_id", "tags", "trashed_at")
    before = list(rows.all())
    values = {"responsible_id": acme.alice.id} if data else {}
    change = started(acme.json(), action=action, ids=[row[0] for row in before], **values)
    run_jobs()
    path = f"/app/bulk_changes/{change['id']}.json"
    assert change["state"] == "running"
    done = read(acme.json().get(path))
    assert (done["state"], done["changed"] + done["unchanged"], done["skipped"]) == ("done", 13, 0)
    assert sum(row != earlier for row, earlier in zip(rows.all(), before, strict=True)) == done["changed"] > 7
    undo(acme.json(), change)
    run_jobs()
    undone = read(acme.json().get(path))
    assert (undone["state"], undone["restored"], undone["kept"]) == ("undone", undone["changed"], 0)
    assert list(rows.all()) == before


def test_a_change_whose_job_failed_is_continued(acme, clients, small_batches):
    change = started(acme.json(), action="add_tags", ids=ids_of(clients), tags=["new"])
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM core_job")
    run_housekeeping()
    assert run_jobs() == 0
    BulkChange.objects.update(updated_at=timezone.now() - timedelta(hours=1))
    run_housekeeping()
    run_jobs()
    assert BulkChange.objects.get(id=change["id"]).state == "done"


def test_cancel_leaves_the_rest_alone(acme, clients, small_batches):
    change = started(acme.json(), action="add_tags", ids=ids_of(clients), tags=["new"])
    assert process_part("BulkChange", acme.account.id, change["id"])
    path = f"/app/bulk_changes/{change['id']}/cancel.json"
    cancelled = read(acme.json().post(path))
    assert (cancelled["state"], cancelled["changed"]) == ("cancelled", 2)
    run_jobs()
    assert [client.tags for client in Client.objects.order_by("id")] == [["old", "new"], ["old", "new"], ["old"]]
    assert acme.json().post(path).status_code == 409
    assert read(undo(acme.json(), change))["restored"] == 2
    assert all(client.tags == ["old"] for client in Client.objects.all())


def test_a_change_ends_when_its_author_leaves_or_its_value_goes(acme, clients, small_batches):
    first = started(acme.json(), action="set_responsible", ids=ids_of(clients), responsible_id=acme.alice.id)
    second = started(acme.json(), action="add_tags", ids=ids_of(clients), tags=["new"])
    acme.alice.is_active = False
    acme.alice.save()
    assert not process_part("BulkChange", acme.account.id, first["id"])
    assert process_part("BulkChange", acme.account.id, second["id"])
    acme.bob.is_active = False
    acme.bob.save()
    assert not process_part("BulkChange", acme.account.id, second["id"])
    changes = [BulkChange.objects.get(id=change["id"]) for change in (first, second)]
    assert [(change.state, change.failure, change.changed) for change in changes] == [
        ("failed", "value", 0),
        ("failed", "user", 2),
    ]
    # An admin may undo what was changed.
    acme.alice.is_active = True
    acme.alice.save()
    changes[1].undo(by=acme.alice)
    assert (changes[1].state, changes[1].restored) == ("undone", 2)


def test_a_limited_agent_changes_only_accessible_rows(acme, clients):
    acme.account.agents_see = AgentsSee.OWN
    acme.account.save()
    own = make_client(acme.alice, "Own", responsible_id=acme.bob.id)
    by_ids = started(acme.json(), action="add_tags", ids=[clients[0].id, own.id], tags=["mine"])
    assert counts(by_ids) == {"total": 2, "changed": 1, "skipped": 1}
    assert by_ids["left_alone"] == [
        {"resource": "client", "id": clients[0].id, "name": None, "result": "not_found", "fields": []}
    ]
    by_query = started(acme.json(), action="set_responsible", query="", responsible_id=acme.alice.id)
    assert counts(by_query) == {"total": 1, "changed": 1}
    # The agent gave the client away, and can't take it back.
    undone = read(undo(acme.json(), by_query))
    assert undone["left_alone"] == [
        {"resource": "client", "id": own.id, "name": None, "result": "not_found", "fields": []}
    ]


def test_agents_see_their_own_changes(acme, other, clients):
    values = {"resource": "client", "action": "add_tags", "data": {"tags": ["new"]}, "query": ""}
    change = BulkChange.start(acme.account, by=acme.alice, ids=ids_of(clients), **values)
    foreign = make_client(other.mallory, "Foreign")
    own = started(acme.json(), action="trash", ids=[foreign.id])
    assert own["left_alone"] == [
        {"resource": "client", "id": foreign.id, "name": None, "result": "not_found", "fields": []}
    ]
    foreign.refresh_from_db()
    assert foreign.trashed_at is None
    for json in (acme.json(), other.json()):
        for path in ("", "/undo", "/cancel"):
            method = json.post if path else json.get
            assert_refused(method(f"/app/bulk_changes/{change.id}{path}.json"), 404, "not_found")
    assert [row["id"] for row in read(acme.json().get(PATH))] == [own["id"]]
    assert read(other.json().get(PATH)) == []


def test_old_changes_are_erased(acme, clients):
    change = started(acme.json(), action="add_tags", ids=ids_of(clients), tags=["new"])
    run_housekeeping()
    assert BulkChangeRow.objects.count() == 3
    BulkChange.objects.update(created_at=timezone.now() - timedelta(days=31))
    assert undo(acme.json(), change).status_code == 409
    run_housekeeping()
    run_housekeeping()
    assert not BulkChangeRow.objects.exists()
    assert not BulkChange.objects.exists()


def test_the_trash_keeps_what_can_be_undone(acme, clients):
    """Even if the account keeps other rows for fewer days."""
    acme.account.change(trash_days=7)
    trashed, merged, kept = clients
    started(acme.json(), action="trash", ids=[trashed.id])
    merge = acme.account.merges.merge(acme.account, "client", kept.id, merged.id, {}, by=acme.bob)
    make_client(acme.bob).trash(by=acme.bob)
    acme.account.clients.trashed().update(trashed_at=timezone.now() - timedelta(days=29))
    run_housekeeping()
    assert set(acme.account.clients.values_list("id", flat=True)) == {trashed.id, merged.id, kept.id}
    for row in (BulkChange.objects.get(), merge):
        type(row).objects.filter(pk=row.pk).update(created_at=timezone.now() - timedelta(days=31))
    run_housekeeping()
    assert set(acme.account.clients.values_list("id", flat=True)) == {kept.id}


def test_any_field_is_changed_and_undone(acme, clients):
    """Own fields and consent too, whose time and user are restored with it."""
    make_field_definition(acme.account, "size", label="Size", type="choice", choices=["S", "M"])
    json, ids = acme.json(), [client.id for client in clients]
    clients[0].write({"city": "Gdynia", "additional_fields": {"size": "S", "old": "x"}}, by=acme.alice)
    fields = {"city": "Gdynia", "additional_fields[size]": "M", "do_not_contact": True, "discount": "12.5"}
    change = started(json, action="set_fields", ids=ids, fields=fields)
    assert (change["fields"], counts(change)) == (fields, {"total": 3, "changed": 3})
    first = Client.objects.get(id=ids[0])
    assert (first.city, first.additional_fields, first.discount) == ("Gdynia", {"size": "M", "old": "x"}, 12.5)
    assert (first.do_not_contact, first.do_not_contact_by_id) == (True, acme.bob.id)
    assert counts(started(json, action="set_fields", ids=ids, fields={"city": "Gdynia"})) == {
        "total": 3,
        "unchanged": 3,
    }
    undone = read(undo(json, change))
    assert undone["restored"] == 3
    first.refresh_from_db()
    assert (first.city, first.additional_fields, first.discount) == ("Gdynia", {"size": "S", "old": "x"}, None)
    assert (first.do_not_contact, first.do_not_contact_at) == (False, None)
    assert Client.objects.get(id=ids[1]).city is None


def test_it_rejects_fields_that_cannot_be_set(acme, clients):
    make_field_definition(acme.account, "size", label="Size", type="choice", choices=["S", "M"])
    for fields, errors in (
        (None, {"fields": ["can't be blank"]}),
        ({}, {"fields": ["can't be blank"]}),
        ([1], {"fields": ["must be an object"]}),
        ({"tags": "a", "created_at": "2026-01-01"}, ["fields.created_at", "fields.tags"]),
        ({"discount": "much", "additional_fields[size]": "XL"}, ["fields.additional_fields[size]", "fields.discount"]),
    ):
        response = start(acme.json(), action="set_fields", ids=[clients[0].id], fields=fields)
        assert response.status_code == 422, response.text
        found = response.json()["errors"]
        assert (found if isinstance(errors, dict) else sorted(found)) == errors
