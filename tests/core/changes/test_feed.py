"""The change feed: its contents, reading and retention."""

import base64
from datetime import UTC, datetime, timedelta

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core.change_feed.api import EXPIRED_MESSAGE
from core.changes.models import Change, Cursor
from core.housekeeping import jobs as housekeeping
from crm.clients.models import Client
from tests.support.assertions import assert_answered, assert_refused, on_the_wire, read
from tests.support.client import JSONClient
from tests.support.factories import (
    make_client,
    make_contact,
    make_contact_list,
    make_deal,
    make_post,
    make_task,
)
from tests.support.jobs import run_housekeeping
from tests.support.tables import table

PATH = "/app/changes.json"

MAKE = {
    "client": make_client,
    "contact": make_contact,
    "contact_list": make_contact_list,
    "deal": make_deal,
    "post": make_post,
    "task": make_task,
}
every_kind = table("kind", MAKE)


def get(cast, since=None, limit=None, client=None):
    # Deferred triggers record the changes at the commit. Run them now.
    connection.check_constraints()
    parameters = {name: value for name, value in {"since": since, "limit": limit}.items() if value is not None}
    return (client or cast.json()).get(PATH, params=parameters)


def current_cursor(cast) -> str:
    return read(get(cast, "now"))["cursor"]


def changes_since(cast, since) -> list[tuple[str, int, str]]:
    """Return all changes since a cursor."""
    body = read(get(cast, since, 1000))
    assert not body["more"]
    return [(change["resource"], change["id"], change["change"]) for change in body["changes"]]


def path(kind, row) -> str:
    return f"/app/{kind.replace('task', 'post')}s/{row.id}.json"


def backdate(account, days, *, up_to) -> None:
    """Set the time of the account's changes up to this number to `days` ago."""
    account.changes.filter(number__lte=up_to).update(at=timezone.now() - timedelta(days=days))


def test_it_works(acme):
    since = current_cursor(acme)
    before = timezone.now().replace(microsecond=0)
    created = read(acme.json().post("/app/clients.json", json={"client": {"name": "Ann"}}))
    response = get(acme, since)
    change = acme.account.changes.order_by("number").last()
    assert before <= change.at <= timezone.now()
    assert_answered(
        response,
        200,
        {
            "changes": [
                {
                    "resource": "client",
                    "id": created["id"],
                    "change": "created",
                    "at": on_the_wire(change.at),
                    "import_id": None,
                }
            ],
            "cursor": str(change.cursor),
            "more": False,
        },
    )
    for since in (str(change.cursor), "now"):
        assert_answered(get(acme, since, 1), 200, {"changes": [], "cursor": str(change.cursor), "more": False})


NO_CURSOR = {"since": ["is not a cursor of this account"]}
INVALID_CURSORS = [
    *("x", "0", "1", "NOW", "now ", "ą", "A" * 31, "A" * 32, "A" * 33, "_" * 32, "\0", "2026-01-01", "9" * 1000),
]


@table("since", INVALID_CURSORS)
def test_it_rejects_invalid_cursors(acme, since):
    assert_refused(get(acme, since), 422, "validation_failed", NO_CURSOR)


def test_it_rejects_a_cursor_of_another_account(acme, other):
    # Both accounts have the same number of changes: one for each default status.
    assert_refused(get(acme, current_cursor(other)), 422, "validation_failed", NO_CURSOR)
    # Reading the feed of acme assigns its numbers.
    current_cursor(acme)
    last = other.account.changes.order_by("number").last()
    assert acme.account.changes.filter(number=last.number).exists()


def test_it_rejects_a_modified_cursor(acme):
    number, *rest = base64.urlsafe_b64decode(current_cursor(acme))[7:]
    forged = bytes(7) + bytes([number - 1, *rest])
    assert_refused(get(acme, base64.urlsafe_b64encode(forged).decode()), 422, "validation_failed", NO_CURSOR)
    # Each cursor has only one valid spelling.
    assert get(acme, current_cursor(acme) + "\n").status_code == 422
    assert get(acme, current_cursor(acme)[:16] + "!" + current_cursor(acme)[16:]).status_code == 422


@table("number", [-(2**63), -1, 0, 1, 13, 2**63 - 1])
@table("moment", [0, 2**64 - 1])
def test_it_rejects_a_cursor_that_was_never_returned(acme, number, moment):
    """The checksum of the cursor is valid. With number 0 and moment 0, it is the cursor of an account without changes."""
    response = get(acme, str(Cursor(acme.account.id, number, moment)))
    if (number, moment) == (0, 0):
        assert response.status_code == 200
    else:
        assert_refused(response, 422, "validation_failed", {"since": [EXPIRED_MESSAGE]})


INVALID_LIMITS = {
    **dict.fromkeys(("0", "-1", "1001"), "must be between 1 and 1000"),
    **dict.fromkeys(("9" * 30, "1.5", "ten"), "is not a whole number"),
}


@table(("limit", "rule"), INVALID_LIMITS.items())
def test_it_rejects_invalid_limits(acme, limit, rule):
    """All errors are reported at once."""
    assert_refused(get(acme, "x", limit), 422, "validation_failed", {**NO_CURSOR, "limit": [rule]})


def test_it_rejects_unknown_parameters_under_strict_handling(acme):
    rule = ["is not one of the parameters since, limit, events"]
    json = acme.json()
    json.headers["Prefer"] = "handling=strict"
    response = json.get(PATH, params={"since": "x", "page": "2", "cursor": "y"})
    errors = {**NO_CURSOR, "page": rule, "cursor": rule}
    assert_refused(response, 422, "validation_failed", errors)
    assert json.get(PATH, params={"api_token": acme.bob_token}).status_code == 200


# Contents


@every_kind
def test_every_change_of_every_kind_of_row(acme, kind):
    resource = kind.replace("task", "post")
    since = current_cursor(acme)
    row = MAKE[kind](acme.alice)
    body = {resource: {"title" if resource == "post" else "name": "Another"}}
    assert acme.json().put(path(kind, row), json=body).status_code == 200
    assert acme.json().delete(path(kind, row)).status_code == 200
    row.refresh_from_db()
    row.restore()
    changes = changes_since(acme, since)
    # A restore updates the row again if it reattaches external ids.
    if changes[-1][2] == "updated":
        assert kind in ("client", "contact", "deal")
        changes.pop()
    assert changes == [(resource, row.id, change) for change in ("created", "updated", "deleted", "restored")]


def test_changes_of_statuses(acme):
    """Statuses are deleted at once, without the trash."""
    assert changes_since(acme, None)[:13] == [
        ("pipeline", acme.account.pipelines.get().id, "created"),
        *(("status", id, "created") for id in acme.account.statuses.order_by("id").values_list("id", flat=True)),
    ]
    since = current_cursor(acme)
    status = acme.account.statuses.create(kind="client", code="lead", name="Lead")
    status.name = "Leads"
    status.save()
    id = status.id
    status.delete()
    assert changes_since(acme, since) == [("status", id, change) for change in ("created", "updated", "deleted")]


def test_writes_of_querysets_are_changes(acme):
    client = make_client(acme.alice)
    since = current_cursor(acme)
    Client.objects.filter(id=client.id).update(note="a")
    assert changes_since(acme, since) == [("client", client.id, "updated")]
    since = current_cursor(acme)
    # A deletion without the trash.
    Client.objects.filter(id=client.id).delete()
    assert changes_since(acme, since) == [("client", client.id, "deleted")]


@table(
    ("kind", "fields"),
    [
        ("client", {"external_ids": {"key": "1"}}),
        ("client", {"tags": ["vip"]}),
        ("contact", {"tags": ["vip"]}),
        ("deal", {"external_ids": {"key": "1"}}),
        ("deal", {"price": 1}),
        ("post", {"status": "planned"}),
        ("task", {"closed": True}),
    ],
)
def test_changes_in_related_tables_are_changes_of_the_row(acme, kind, fields):
    row = MAKE[kind](acme.alice)
    since = current_cursor(acme)
    resource = kind.replace("task", "post")
    assert acme.json().put(path(kind, row), json={resource: fields}).status_code == 200
    assert changes_since(acme, since) == [(resource, row.id, "updated")]


def test_a_contact_changes_with_its_contact_lists(acme):
    contact, contact_list = make_contact(acme.alice), make_contact_list(acme.alice)
    for ids in ([], [contact_list.id]):
        since = current_cursor(acme)
        acme.json().put(path("contact", contact), json={"contact": {"contact_list_ids": ids}})
        assert changes_since(acme, since) == [("contact", contact.id, "updated")]


def test_a_post_changes_with_its_counters(acme):
    """The counters are part of the post, so a comment or a vote is a change of the post."""
    post = make_post(acme.alice)
    since = current_cursor(acme)
    acme.json().post("/app/posts.json", json={"post": {"task_kind": "comment", "post_id": post.id, "content": "a"}})
    post.vote(by=acme.bob)
    post.vote(by=acme.bob)
    post.withdraw_vote(by=acme.bob)
    assert changes_since(acme, since) == [("post", post.id, "updated")] * 3


def test_related_rows_change_when_a_client_is_trashed_and_restored(acme):
    client = make_client(acme.alice)
    contact = make_contact(acme.alice, client_id=client.id)
    deal = make_deal(acme.alice, client_id=client.id)
    task = make_task(acme.alice, client_id=client.id)
    main = make_client(acme.alice, contact_id=contact.id)
    children = [("contact", contact.id, "updated"), ("deal", deal.id, "updated"), ("post", task.id, "updated")]
    since = current_cursor(acme)
    client.trash(by=acme.alice)
    assert changes_since(acme, since) == [("client", client.id, "deleted"), *children]
    since = current_cursor(acme)
    client.restore()
    assert changes_since(acme, since) == [("client", client.id, "restored"), *children]
    since = current_cursor(acme)
    contact.refresh_from_db()
    contact.trash(by=acme.alice)
    assert changes_since(acme, since) == [("contact", contact.id, "deleted"), ("client", main.id, "updated")]


def test_a_nested_client_is_a_change_of_its_own(acme):
    since = current_cursor(acme)
    deal = read(acme.json().post("/app/deals.json", json={"deal": {"name": "a", "client": {"name": "b"}}}))
    assert changes_since(acme, since) == [("client", deal["client_id"], "created"), ("deal", deal["id"], "created")]


def test_changes_of_trashed_rows_are_not_in_the_feed(acme):
    client = make_client(acme.alice)
    contact = make_contact(acme.alice, client_id=client.id)
    contact.trash(by=acme.alice)
    since = current_cursor(acme)
    client.trash(by=acme.alice)
    assert changes_since(acme, since) == [("client", client.id, "deleted")]
    since = current_cursor(acme)
    Client.objects.update(trashed_at=timezone.now() - timedelta(days=31))
    run_housekeeping()
    assert not Client.objects.exists()
    assert changes_since(acme, since) == []


# Reading


def test_pages(acme, monkeypatch):
    monkeypatch.setattr("core.change_feed.api.ChangeViewSet.DEFAULT_LIMIT", 4)
    since = current_cursor(acme)
    clients = [make_client(acme.alice).id for _ in range(7)]

    def page(since, limit) -> tuple[list[int], bool, str]:
        body = read(get(acme, since, limit))
        return [change["id"] for change in body["changes"]], body["more"], body["cursor"]

    *first, cursor = page(since, 3)
    assert first == [clients[:3], True]
    # A full last page.
    assert page(cursor, 4)[:2] == (clients[3:], False)
    for limit, number in ((None, 4), ("", 4), (1, 1), (1000, 7)):
        assert page(since, limit)[:2] == (clients[:number], number < 7), limit


def test_a_feed_without_cursor_starts_at_the_first_change(acme):
    client = make_client(acme.alice)
    for since in (None, ""):
        body = read(get(acme, since))
        assert [change["resource"] for change in body["changes"]] == ["pipeline", *["status"] * 12, "client"]
        assert body["changes"][-1]["id"] == client.id
        assert changes_since(acme, body["cursor"]) == []


def test_an_account_with_no_changes_yet(other):
    """The deferred triggers have not run, so the feed is empty until `changes_since` runs them."""
    body = {"changes": [], "cursor": str(Cursor(other.account.id)), "more": False}
    for since in (None, "now", body["cursor"]):
        response = other.json().get(PATH, params={"since": since} if since else None)
        assert_answered(response, 200, body)
    assert len(changes_since(other, body["cursor"])) == 13


def test_times_are_in_the_time_zone_of_the_account(acme):
    acme.account.time_zone = "Europe/Warsaw"
    acme.account.save()
    since = current_cursor(acme)
    make_client(acme.alice)
    connection.check_constraints()
    last = acme.account.changes.order_by("position").last()
    Change.objects.filter(pk=last.pk).update(at=datetime(2026, 7, 1, 10, 0, 0, 999999, tzinfo=UTC))
    (change,) = read(get(acme, since))["changes"]
    assert change["at"] == "2026-07-01T12:00:00+02:00"


def test_the_feed_has_no_changes_of_another_account(acme, other):
    """Each account numbers its own changes."""
    since, other_since = current_cursor(acme), current_cursor(other)
    client, other_client = make_client(acme.alice), make_client(other.mallory)
    assert changes_since(acme, since) == [("client", client.id, "created")]
    assert changes_since(other, other_since) == [("client", other_client.id, "created")]
    for account in (acme.account, other.account):
        assert list(account.changes.order_by("number").values_list("number", flat=True)) == list(range(1, 15))


def test_the_feed_is_the_same_at_hosts_without_an_account(acme):
    make_client(acme.alice)
    body = read(get(acme))
    for host in ("example.test", "api.example.test"):
        assert read(get(acme, client=JSONClient(host, acme.bob_token))) == body


# Retention


def test_old_changes_are_erased(acme, other, caplog, monkeypatch):
    monkeypatch.setattr(housekeeping, "BATCH_SIZE", 5)
    for cast in (acme, other):
        make_client(cast.account.users.first())
        make_client(cast.account.users.first())
    connection.check_constraints()
    acme.account.changes.assign_all_numbers(acme.account.id)
    backdate(acme.account, 91, up_to=14)
    with caplog.at_level("INFO", "rostrum.housekeeping"):
        run_housekeeping()
    assert [record.getMessage() for record in caplog.records] == ["erased 14 old changes"]
    assert [change.number for change in acme.account.changes.all()] == [15]
    assert other.account.changes.count() == 15
    # New changes continue the numbers.
    client = make_client(acme.alice)
    assert changes_since(acme, None)[-1] == ("client", client.id, "created")
    assert acme.account.changes.order_by("number").last().number == 16
    assert "90 days" in EXPIRED_MESSAGE


def test_the_last_change_is_never_erased(acme):
    current_cursor(acme)
    backdate(acme.account, 1000, up_to=13)
    # The newest change is kept although it is old, because a cursor there must stay valid.
    run_housekeeping()
    assert [change.number for change in acme.account.changes.all()] == [13]
    since = current_cursor(acme)
    make_client(acme.alice)
    assert len(changes_since(acme, since)) == 1


def test_it_rejects_a_cursor_before_the_kept_changes(acme):
    before_all, early = str(Cursor(acme.account.id)), read(get(acme, limit=5))["cursor"]
    late = read(get(acme, limit=8))["cursor"]
    backdate(acme.account, 91, up_to=7)
    run_housekeeping()
    for cursor in (before_all, early):
        assert_refused(get(acme, cursor), 422, "validation_failed", {"since": [EXPIRED_MESSAGE]})
    assert len(changes_since(acme, late)) == 5
    assert len(changes_since(acme, None)) == 6


def test_it_rejects_a_cursor_from_before_a_backup_was_restored(acme):
    """After a restore, new changes get the numbers of the changes that were lost."""
    cursor_of_backup = current_cursor(acme)
    client = make_client(acme.alice)
    lost_cursor = current_cursor(acme)
    acme.account.changes.filter(number=14).delete()
    assert_refused(get(acme, lost_cursor), 422, "validation_failed", {"since": [EXPIRED_MESSAGE]})
    client.write({"name": "Another"}, by=acme.alice)
    assert changes_since(acme, cursor_of_backup) == [("client", client.id, "updated")]
    assert_refused(get(acme, lost_cursor), 422, "validation_failed", {"since": [EXPIRED_MESSAGE]})


# Statements


def plans(queries) -> list[str]:
    with connection.cursor() as cursor:
        texts = []
        for query in queries:
            cursor.execute("EXPLAIN " + query["sql"])
            texts.append("\n".join(line for (line,) in cursor.fetchall()))
        return texts


def test_the_feed_is_read_from_an_index(acme, other, django_assert_num_queries):
    fill = """
        INSERT INTO core_change (account_id, position, number, resource, id, change, at)
        SELECT %s, nextval('core_change_positions'), n, 'client', n, 'created', now()
        FROM generate_series(14, 5000) AS n
    """
    connection.check_constraints()
    for account in (acme.account, other.account):
        account.changes.assign_all_numbers(account.id)
    with connection.cursor() as cursor:
        for account in (acme.account, other.account):
            cursor.execute(fill, [account.id])
        cursor.execute("ANALYZE core_change")
    client = acme.json()
    client.get(PATH)
    for since in ("", "now", str(acme.account.changes.get(number=4_000).cursor)):
        # Statements: the token with its user and account, whether changes need numbers, the changes.
        with django_assert_num_queries(3) as queries:
            assert client.get(PATH, params={"since": since}).status_code == 200
        unnumbered, page = plans(queries.captured_queries)[1:]
        assert "change_unnumbered" in unnumbered
        assert "change_numbered" in page
        for plan in (unnumbered, page):
            assert "Seq Scan" not in plan
            assert "Sort" not in plan
    # Housekeeping finds old changes.
    with CaptureQueriesContext(connection) as queries:
        acme.account.changes.erase(before=timezone.now(), limit=10)
    assert len(queries) == 2
    for plan in plans(queries):
        assert "change_numbered" in plan
        assert "Seq Scan" not in plan
