"""The change feed with overlapping transactions on real connections: no order of commits hides a change."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, connections, transaction

from core.changes.models import Change
from crm.clients.models import Client
from tests.support.assertions import read
from tests.support.factories import make_client, make_contact, make_deal, make_task
from tests.support.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)

TIMEOUT = 60


def get(client, since=None, limit=1000) -> dict:
    response = client.get("/app/changes.json", params={"limit": limit} | ({"since": since} if since else {}))
    assert response.status_code == 200, response.text
    return read(response)


def changes_in(body) -> list[tuple[str, int, str]]:
    return [(change["resource"], change["id"], change["change"]) for change in body["changes"]]


class Transaction:
    """A transaction on its own thread and connection. It calls `function` at once, and is committed by `commit`."""

    def __init__(self, function):
        self._function = function
        self._done, self._go = threading.Event(), threading.Event()
        self._pool = ThreadPoolExecutor(1)
        self._future = self._pool.submit(self._run)
        assert self._done.wait(TIMEOUT)

    def _run(self):
        try:
            with transaction.atomic():
                result = self._function()
                self._done.set()
                assert self._go.wait(TIMEOUT)
            return result
        finally:
            self._done.set()
            connections.close_all()

    def commit(self):
        self._go.set()
        result = self._future.result(TIMEOUT)
        self._pool.shutdown()
        return result


def test_it_works(acme):
    """The transaction that writes first commits last. Its row has the lower id, but its change is the last one."""
    client = acme.json()
    since = get(client, "now")["cursor"]
    slow = Transaction(lambda: make_client(acme.alice))
    # The open transaction blocks neither writers nor readers.
    quick = make_client(acme.alice)
    body = get(client, since)
    assert changes_in(body) == [("client", quick.id, "created")]
    assert not body["more"]
    first = slow.commit()
    assert first.id < quick.id
    assert changes_in(get(client, body["cursor"])) == [("client", first.id, "created")]
    assert changes_in(get(client, since)) == [("client", quick.id, "created"), ("client", first.id, "created")]


def test_changes_of_one_row_are_in_order(acme):
    """The transaction that restores a row began before the one that deletes it, and so has the lower id."""
    client = acme.json()
    row = make_client(acme.alice)
    since = get(client, "now")["cursor"]
    written, deleted = threading.Event(), threading.Event()

    def early():
        try:
            with transaction.atomic():
                make_task(acme.alice)
                written.set()
                assert deleted.wait(TIMEOUT)
                Client.objects.locked().get(id=row.id).restore()
        finally:
            connections.close_all()

    def late():
        assert written.wait(TIMEOUT)
        Client.objects.get(id=row.id).trash(by=acme.alice)
        deleted.set()

    at_once(early, late)
    changes = [
        change for resource, id, change in changes_in(get(client, since)) if resource == "client" and id == row.id
    ]
    assert changes == ["deleted", "restored"]


def test_a_rollback_leaves_no_gap(acme):
    client = acme.json()

    def roll_back():
        with transaction.atomic():
            make_client(acme.alice)
            # Roll back as late as possible: the deferred triggers have already numbered the changes.
            connection.check_constraints()
            transaction.set_rollback(True)

    at_once(*([roll_back, lambda: make_client(acme.alice)] * 8))
    assert len(get(client)["changes"]) == 21
    numbers = list(acme.account.changes.order_by("number").values_list("number", flat=True))
    # The default pipeline, 12 default statuses and 8 clients.
    assert numbers == list(range(1, 13 + 8 + 1))


def test_eight_writers_and_a_reader(acme, other):
    """A reader that polls during the writes gets every change once and in order."""
    writers, rounds = 8, 3
    client = acme.json()
    since = get(client, "now")["cursor"]
    stopped = threading.Event()
    makers = [make_client, make_contact, make_deal, make_task]

    def write(number):
        make = makers[number % len(makers)]
        row = make(acme.alice)
        for round in range(rounds):
            with transaction.atomic():
                make_client(other.mallory)
                # Several changes in one transaction, of the same and of other rows.
                row.write({"title" if make is make_task else "name": f"{round}"}, by=acme.alice)
                makers[round % len(makers)](acme.alice)
            row.trash(by=acme.alice)
            row.restore()

    def read_all():
        changes, cursor = [], since
        while True:
            # Check the event before the request: the response must contain all changes written until then.
            is_last = stopped.is_set()
            body = get(client, cursor, 7)
            changes += changes_in(body)
            cursor = body["cursor"]
            if is_last and not body["more"]:
                return changes

    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(in_own_connection, read_all)
        try:
            at_once(*(lambda number=number: write(number) for number in range(writers)))
        finally:
            stopped.set()
        changes = reader.result(TIMEOUT)

    rows = Change.objects.filter(account_id=acme.account.id, number__gt=13).order_by("number")
    assert changes == [(row.resource, row.id, row.change) for row in rows]
    assert [row.number for row in rows] == list(range(14, 14 + len(rows)))
    assert_possible_order(changes)
    assert {change for _, _, change in changes} == {"created", "updated", "deleted", "restored"}
    # One create for each writer; in each round an update, a create, a deletion and a restore.
    assert len(changes) == writers + rounds * writers * 4
    assert_possible_order([(row.resource, row.id, row.change) for row in other.account.changes.order_by("number")])


def in_own_connection(function):
    try:
        return function()
    finally:
        connections.close_all()


def assert_possible_order(changes) -> None:
    """Assert that each row is created first and once, and then deleted, restored and updated in a possible order."""
    state = {}
    for resource, id, change in changes:
        before = state.get((resource, id))
        assert (
            before
            in {
                "created": (None,),
                "updated": ("created", "updated", "restored"),
                "deleted": ("created", "updated", "restored"),
                "restored": ("deleted",),
            }[change]
        ), (resource, id, before, change)
        state[resource, id] = change


def test_accounts_do_not_wait_for_each_other(acme, other):
    """A transaction of one account holds the lock that numbers its changes. Another account can still commit."""

    def write_and_number():
        make_client(acme.alice)
        connection.check_constraints()

    open_transaction = Transaction(write_and_number)
    row = make_client(other.mallory)
    assert changes_in(get(other.json()))[-1] == ("client", row.id, "created")
    open_transaction.commit()
