"""The loops of the workers, with several workers at once and real connections."""

import threading

import pytest
from django.db import DatabaseError, connection, transaction

from core.changes import followers
from core.changes.followers import Follower
from core.changes.models import Change
from tests.support.factories import make_account, make_client
from tests.support.followers import Recorder, register_only, work_until
from tests.support.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)


class Stored(Recorder):
    """A follower that appends the number of each change to the name of its account."""

    def handle(self, account_id, changes):
        super().handle(account_id, changes)
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE accounts_account SET name = name || %s WHERE id = %s",
                ["".join(f"{change.number}," for change in changes), account_id],
            )


@pytest.fixture
def stored(monkeypatch) -> Stored:
    follower = Stored()
    register_only(monkeypatch, follower)
    return follower


def is_done() -> bool:
    return not Change.objects.filter(number=None).exists() and not Follower.objects.exclude(due_at=None).exists()


def test_it_works(stored):
    """Two workers handle the changes of twenty accounts, each once and in order, while a thread writes them."""
    casts = [make_account(f"acme-{number}", login="alice") for number in range(20)]
    written = threading.Event()

    def write():
        for _ in range(3):
            for account, alice, _token in casts:
                make_client(alice, f"of {account.prefix}")
        written.set()

    writer = threading.Thread(target=lambda: at_once(write))
    writer.start()
    work_until(lambda: written.is_set() and is_done(), followers.run_followers)
    writer.join()
    for account, _alice, _token in casts:
        account.refresh_from_db()
        numbers = [int(number) for number in account.name.removeprefix(account.prefix).split(",") if number.isdigit()]
        assert numbers == list(range(1, 13 + 3 + 1))
    assert len(stored.handled) == 20 * (13 + 3)


def test_two_workers_do_not_number_the_same_account(acme):
    make_client(acme.alice)
    with transaction.atomic():
        Change.objects.lock_numbering(acme.account.id)
        [count] = at_once(lambda: Change.objects.assign_numbers_of([acme.account.id]))
        assert count == 0
    assert Change.objects.assign_numbers_of([acme.account.id]) == 14


def test_many_accounts_are_numbered_by_a_few_statements(stored, monkeypatch, django_assert_num_queries):
    monkeypatch.setattr(followers, "NUMBERED_ACCOUNTS", 3)
    for number in range(7):
        make_account(f"acme-{number}", login="alice")
    # For each of three batches: the accounts, BEGIN, locks, numbers, COMMIT. After the last batch, the accounts again.
    with django_assert_num_queries(3 * 5 + 1):
        assert followers.assign_numbers()
    assert not followers.assign_numbers()
    assert Follower.objects.exclude(due_at=None).count() == 7


def test_a_worker_that_dies_loses_nothing(acme, stored, monkeypatch):
    """The process dies within the transaction of the follower: its lease ends, and another worker handles the changes once."""
    make_client(acme.alice)
    followers.assign_numbers()
    [lease] = Follower.objects.lease(["recorder"], limit=1)

    def die():
        with transaction.atomic():
            stored.handle(lease.account_id, lease.next_changes())
            # PostgreSQL rolls back the transaction of a lost connection.
            connection.connection.close()

    with pytest.raises(DatabaseError):
        at_once(die)
    Follower.objects.update(due_at="2026-01-01T00:00Z")
    work_until(is_done, followers.run_followers, workers=1)
    acme.account.refresh_from_db()
    assert acme.account.name.endswith("1,2,3,4,5,6,7,8,9,10,11,12,13,14,")
    assert acme.account.name.count(",14,") == 1


def test_a_loop_survives_errors(monkeypatch, caplog):
    monkeypatch.setattr(followers, "ERROR_DELAY", 0)
    stop = threading.Event()
    outcomes = [DatabaseError("secret"), ValueError("a defect"), True, False]

    def poll():
        outcome = outcomes.pop(0)
        if not outcomes:
            stop.set()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    followers.repeat(poll, stop)
    assert outcomes == []
    assert "the database is not available: DatabaseError" in caplog.text
    assert "secret" not in caplog.text
    assert "a defect" in caplog.text
