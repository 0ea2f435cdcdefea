"""Followers of the change feed: leases, fencing tokens, errors and replays."""

from datetime import timedelta

import pytest
from django.db import connection, models, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.account.models import Account
from core.changes import followers
from core.changes.followers import Follower, LeaseLostError
from tests.support.factories import make_client
from tests.support.followers import Recorder, register_only, run_followers


@pytest.fixture
def recorder(acme, monkeypatch) -> Recorder:
    """Register a follower that has handled all earlier changes of acme."""
    follower = Recorder()
    register_only(monkeypatch, follower)
    run_followers()
    follower.handled.clear()
    follower.batches.clear()
    return follower


@pytest.fixture
def leased(acme, recorder):
    """Lease acme's follower, which has one new change."""
    make_client(acme.alice)
    connection.check_constraints()
    followers.assign_numbers()
    [lease] = Follower.objects.lease(["recorder"], limit=10)
    return lease


def state(cast) -> Follower:
    return cast.account.followers.get(name="recorder")


def let_delays_pass(**by) -> None:
    Follower.objects.update(due_at=models.F("due_at") - timedelta(**by))


def test_it_works(acme, recorder):
    row = make_client(acme.alice)
    row.write({"name": "Bea"}, by=acme.alice)
    run_followers()
    assert recorder.changes_of(acme.account.id) == [("client", row.id, "created"), ("client", row.id, "updated")]
    follower = state(acme)
    assert follower.cursor == follower.newest == acme.account.changes.count()
    assert (follower.due_at, follower.failures) == (None, 0)


def test_a_new_follower_begins_with_the_next_change(acme, monkeypatch):
    connection.check_constraints()
    acme.account.changes.assign_all_numbers(acme.account.id)
    late = Recorder()
    register_only(monkeypatch, late)
    run_followers()
    row = make_client(acme.alice)
    run_followers()
    assert late.handled == [(acme.account.id, "client", row.id, "created")]


def test_a_new_account_is_followed_from_its_first_change(recorder, other):
    run_followers()
    assert (
        len(recorder.changes_of(other.account.id)) == other.account.statuses.count() + other.account.pipelines.count()
    )


def test_a_reader_of_the_feed_makes_followers_due(acme, recorder):
    row = make_client(acme.alice)
    connection.check_constraints()
    assert acme.json().get("/app/changes.json", params={"since": "now"}).status_code == 200
    assert followers.handle_due()
    assert recorder.changes_of(acme.account.id) == [("client", row.id, "created")]


def test_a_change_that_is_rolled_back_is_never_handled(acme, recorder):
    with transaction.atomic():
        make_client(acme.alice)
        connection.check_constraints()
        transaction.set_rollback(True)
    run_followers()
    assert recorder.handled == []


def test_many_changes_are_handled_in_batches(acme, recorder, monkeypatch):
    monkeypatch.setattr(followers, "BATCH_SIZE", 2)
    rows = [make_client(acme.alice) for _ in range(5)]
    run_followers()
    assert recorder.changes_of(acme.account.id) == [("client", row.id, "created") for row in rows]
    assert recorder.batches == [2, 2, 1]


def test_a_change_during_a_lease_makes_the_follower_due_again(acme, recorder, leased):
    second = make_client(acme.alice)
    connection.check_constraints()
    followers.assign_numbers()
    leased.advance(leased.newest)
    assert state(acme).due_at is not None
    assert followers.handle_due()
    assert recorder.changes_of(acme.account.id) == [("client", second.id, "created")]


def test_a_leased_follower_is_not_leased_again(leased):
    assert Follower.objects.lease(["recorder"], limit=10) == []


def test_a_lease_has_a_limit_with_every_plan(acme, recorder):
    """A nested loop may execute a subquery with SKIP LOCKED once for each row, and each time it finds other rows."""
    Follower.objects.bulk_create(
        Follower(account=acme.account, name="recorder", key=key, cursor=0, newest=1, due_at=timezone.now())
        for key in range(1, 7)
    )
    with transaction.atomic(), connection.cursor() as cursor:
        for kind in ("hashjoin", "mergejoin", "hashagg", "sort", "material"):
            cursor.execute(f"SET LOCAL enable_{kind} = off")
        assert len(Follower.objects.lease(["recorder"], limit=2)) == 2


def test_an_expired_lease_is_taken_over_and_its_holder_refused(acme, recorder, leased):
    """The token of the former holder is outdated: its effects are rolled back, and the cursor does not move."""
    let_delays_pass(seconds=followers.LEASE_DURATION.total_seconds() + 1)
    [second] = Follower.objects.lease(["recorder"], limit=10)
    assert second.token == leased.token + 1
    with pytest.raises(LeaseLostError):
        followers.handle_leased(leased)
    assert state(acme).cursor == leased.cursor
    for write in (leased.release, lambda: leased.postpone(timedelta(0)), lambda: leased.advance(leased.newest)):
        with pytest.raises(LeaseLostError):
            write()
    followers.handle_leased(second)
    assert state(acme).cursor == second.newest


def test_the_effects_of_a_lost_lease_are_rolled_back(acme, recorder, leased, monkeypatch):
    def handle(account_id, changes):
        Account.objects.filter(id=account_id).update(name="Changed")
        Follower.objects.update(token=models.F("token") + 1)

    monkeypatch.setattr(recorder, "handle", handle)
    with pytest.raises(LeaseLostError):
        followers.handle_leased(leased)
    assert Account.objects.get(id=acme.account.id).name == acme.account.name


def test_an_error_postpones_one_follower_and_rolls_back(acme, other, recorder, monkeypatch, caplog):
    run_followers()
    recorder.handled.clear()

    def handle(account_id, changes, handle=recorder.handle):
        if account_id == acme.account.id:
            Account.objects.filter(id=account_id).update(name="Changed")
            raise ValueError("alice@example.test")
        handle(account_id, changes)

    monkeypatch.setattr(recorder, "handle", handle)
    make_client(acme.alice)
    foreign = make_client(other.mallory)
    run_followers()
    assert recorder.handled == [(other.account.id, "client", foreign.id, "created")]
    assert Account.objects.get(id=acme.account.id).name == acme.account.name
    follower = state(acme)
    assert follower.failures == 1
    assert follower.due_at > timezone.now() + timedelta(seconds=1)
    assert "ValueError" in caplog.text
    assert "alice@" not in caplog.text


def test_a_change_that_always_fails_is_skipped(acme, recorder, monkeypatch):
    rows = [make_client(acme.alice) for _ in range(3)]

    def handle(account_id, changes, handle=recorder.handle):
        if any(change.id == rows[1].id for change in changes):
            raise ValueError
        handle(account_id, changes)

    monkeypatch.setattr(recorder, "handle", handle)
    for _ in range(followers.MAX_FAILURES + 2):
        run_followers()
        let_delays_pass(seconds=followers.MAX_RETRY_DELAY)
    assert recorder.changes_of(acme.account.id) == [
        ("client", rows[0].id, "created"),
        ("client", rows[2].id, "created"),
    ]


def test_a_replay_moves_the_cursor_back(acme, recorder):
    rows = [make_client(acme.alice) for _ in range(3)]
    run_followers()
    recorder.handled.clear()
    end = state(acme).cursor
    assert Follower.objects.replay(acme.account.id, "recorder", after=end - 2)
    run_followers()
    assert recorder.changes_of(acme.account.id) == [("client", row.id, "created") for row in rows[1:]]
    assert not Follower.objects.replay(acme.account.id, "recorder", after=end)


def test_a_replay_during_a_lease_is_not_lost(acme, recorder, leased):
    assert Follower.objects.replay(acme.account.id, "recorder", after=0)
    with pytest.raises(LeaseLostError):
        leased.advance(leased.newest)
    run_followers()
    assert len(recorder.handled) == acme.account.changes.count()


def test_changes_that_were_erased_are_skipped(acme, recorder):
    make_client(acme.alice)
    run_followers()
    Follower.objects.replay(acme.account.id, "recorder", after=0)
    recorder.handled.clear()
    acme.account.changes.filter(number__lt=state(acme).newest).delete()
    run_followers()
    assert len(recorder.handled) == 1


def test_the_lease_of_a_deleted_follower_is_lost(recorder, other):
    make_client(other.mallory)
    connection.check_constraints()
    followers.assign_numbers()
    leases = {lease.account_id: lease for lease in Follower.objects.lease(["recorder"], limit=10)}
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM core_follower WHERE account_id = %s", [other.account.id])
    with pytest.raises(LeaseLostError):
        followers.handle_leased(leases[other.account.id])


def test_one_of_several_followers_begins_with_the_next_change(acme, recorder):
    make_client(acme.alice)
    # The change has no number yet.
    connection.check_constraints()
    Follower.objects.start(acme.account.id, "one of several", 7)
    assert Follower.objects.lease(["one of several"], limit=1) == []
    second = make_client(acme.alice)
    connection.check_constraints()
    followers.assign_numbers()
    [lease] = Follower.objects.lease(["one of several"], limit=1)
    assert [change.id for change in lease.next_changes()] == [second.id]
    assert (lease.key, lease.newest) == (7, lease.cursor + 1)


def test_failing_followers_are_leased_apart(acme, recorder, leased):
    leased.postpone(timedelta(0))
    assert Follower.objects.lease(["recorder"], limit=1, failing=False) == []
    [again] = Follower.objects.lease(["recorder"], limit=1, failing=True)
    assert again.failures == 1
    again.advance(again.newest)
    assert state(acme).failures == 0


def test_accounts_without_changes_take_no_statement(acme, recorder):
    for number in range(5):
        Account.objects.create(prefix=f"quiet-{number}")
    with CaptureQueriesContext(connection) as quiet:
        run_followers()
    # Deferred constraints (twice), accounts with changes, due followers.
    assert len(quiet) == 4, [query["sql"] for query in quiet]
    make_client(acme.alice)
    connection.check_constraints()
    with CaptureQueriesContext(connection) as numbering:
        followers.assign_numbers()
    # Accounts, locks, numbers, and accounts after the last one, in a savepoint of the test's transaction.
    assert len(numbering) == 6, [query["sql"] for query in numbering]
