"""Jobs: deferring, attempts, failures, periodic jobs."""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from time import monotonic

import pytest
from django.db import connection, transaction
from django.utils import timezone

from core.housekeeping import jobs as housekeeping
from core.jobs import queue
from core.jobs.queue import Job, PeriodicTime
from core.jobs.registry import (
    JobFunction,
    PermanentError,
    RetryDelays,
    has_time_left,
    job,
    jobs,
    periodic_job,
    time_slice_end,
)
from core.jobs.worker import defer_periodic
from tests.support.jobs import run_jobs

calls: list = []


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Unregister the jobs of the test at its end."""
    before = dict(jobs)
    calls.clear()
    yield
    jobs.clear()
    jobs.update(before)


def make_job(function=None, **options) -> JobFunction:
    def record(*, account_id: int = 0, **arguments) -> None:
        calls.append((account_id, arguments))

    return job(**options)(function or record)


def rows() -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, state, attempts FROM core_job ORDER BY id")
        return cursor.fetchall()


def test_it_works(db, django_assert_num_queries):
    record = make_job()
    with django_assert_num_queries(1):
        assert record.defer(account_id=3, to=["a"], text="zażółć") is True
    assert calls == []
    assert run_jobs() == 1
    assert calls == [(3, {"to": ["a"], "text": "zażółć"})]
    # The row of a job is deleted when the job has succeeded.
    assert (run_jobs(), rows()) == (0, [])


def test_it_rejects_arguments_that_the_function_does_not_take(db):
    def takes_an_id(*, id: int) -> None: ...

    with pytest.raises(TypeError):
        make_job(takes_an_id).defer(name="x")
    with pytest.raises(TypeError):
        make_job().defer(account_id=object())
    assert rows() == []


def test_it_rejects_two_jobs_of_one_name_and_unknown_queues(db):
    make_job()
    with pytest.raises(ValueError, match="registered twice"):
        make_job()
    with pytest.raises(ValueError, match="unknown"):
        make_job(lambda: None, queue="typo")
    with pytest.raises(ValueError, match="time limit"):
        make_job(lambda: None, time_limit=0)


def test_a_job_belongs_to_the_transaction_that_defers_it(db):
    record = make_job()
    with transaction.atomic():
        record.defer()
        transaction.set_rollback(True)
    assert rows() == []


def test_jobs_run_in_the_order_of_their_due_times(db):
    def record(*, number: int) -> None:
        calls.append(number)

    record = make_job(record)
    now = timezone.now()
    record.defer(number=1, _schedule_at=now + timedelta(hours=2))
    record.defer(number=2, _schedule_at=now + timedelta(hours=1))
    record.defer(number=3)
    record.defer(number=4)
    run_jobs()
    assert calls == [3, 4]
    run_jobs(later=timedelta(hours=3))
    assert calls == [3, 4, 2, 1]


def test_many_jobs_take_one_statement(db, django_assert_num_queries):
    record = make_job()
    with django_assert_num_queries(1):
        record.defer_many([{"account_id": 1}, {"account_id": 2, "text": "b"}])
    with django_assert_num_queries(0):
        record.defer_many([])
    run_jobs()
    assert calls == [(1, {}), (2, {"text": "b"})]


def test_each_key_allows_one_waiting_job(db):
    record = make_job()
    with transaction.atomic():
        assert [record.defer(account_id=id, _key="a") for id in (1, 2)] == [True, False]
    assert record.defer(account_id=3, _key="b") is True
    run_jobs()
    assert [id for id, _ in calls] == [1, 3]
    assert record.defer(account_id=4, _key="a") is True


def test_a_running_job_does_not_hold_its_key(db):
    record = make_job()
    record.defer(_key="a")
    claimed = queue.claim("default")
    assert claimed is not None
    assert record.defer(_key="a") is True
    # The retry does not conflict with the new job.
    queue.fail(claimed, "Error", delay=0)
    assert run_jobs() == 2


def fail_with(error: Exception):
    def fail(*, account_id: int, email: str = "") -> None:
        calls.append(account_id)
        raise error

    return fail


def test_a_failing_job_is_retried_after_the_delays_and_then_failed(db, caplog):
    fail = make_job(fail_with(ValueError("secret@example.com")), retry=RetryDelays(5, 60))
    fail.defer(account_id=7, email="secret@example.com")
    with caplog.at_level(logging.INFO, "rostrum.jobs"):
        for seconds, attempts in ((0, 1), (4, 1), (1, 2), (59, 2), (1, 3), (3600, 3)):
            run_jobs(later=timedelta(seconds=seconds), raise_errors=False)
            assert len(calls) == attempts
    [(_, status, attempts)] = rows()
    assert (status, attempts) == ("failed", 3)
    failed = Job.objects.get()
    assert failed.error == "ValueError"
    name = f"job {failed.id} {fail.name} of account 7"
    assert [record.getMessage() for record in caplog.records] == [
        f"{name} is retried in 5 s: ValueError",
        f"{name} is retried in 60 s: ValueError",
        f"{name} failed after 3 attempts: ValueError",
    ]


def test_a_permanent_error_fails_at_once(db):
    def fail() -> None:
        raise PermanentError from KeyError("x")

    make_job(fail, retry=RetryDelays(5, 60)).defer()
    run_jobs(raise_errors=False)
    assert [row[1:] for row in rows()] == [("failed", 1)]
    assert Job.objects.get().error == "KeyError"


def test_an_unknown_job_waits_for_another_version_of_the_code(db, caplog):
    queue.insert("default", "forum.new.work", {})
    run_jobs(raise_errors=False)
    assert rows() == [("forum.new.work", "waiting", 1)]
    assert [record.getMessage() for record in caplog.records][-1].endswith(
        "forum.new.work is retried in 60 s: UnknownJob"
    )
    for _ in range(5):
        run_jobs(later=timedelta(days=2), raise_errors=False)
    assert rows() == [("forum.new.work", "failed", 6)]


def end_leases() -> None:
    Job.objects.filter(state="running").update(leased_until=timezone.now() - timedelta(hours=1))


def test_each_claim_counts_as_an_attempt(db):
    """A job that kills its workers fails after its last attempt."""
    record = make_job(retry=RetryDelays(5))
    record.defer()
    first = queue.claim("default")
    assert first is not None
    # The worker renews the lease.
    end_leases()
    queue.beat(queue.register_worker(), [first.id])
    assert queue.claim("default") is None
    # After an outage of the database, no worker has renewed its leases.
    end_leases()
    assert queue.claim("default", take_over=False) is None
    late = queue.claim("default")
    assert late is not None
    assert (late.is_lost, late.attempts) == (True, 2)
    end_leases()
    assert run_jobs(raise_errors=False) == 1
    assert [row[1:] for row in rows()] == [("failed", 2)]
    assert (Job.objects.get().error, calls) == ("WorkerLost", [])
    # The worker was only slow: it cannot change the job any more.
    assert (queue.finish(late), queue.fail(late, "Error", delay=1)) == (False, False)


def test_a_worker_does_not_change_a_job_that_was_taken_over(db):
    make_job().defer()
    slow = queue.claim("default")
    end_leases()
    taken_over = queue.claim("default")
    assert slow is not None
    assert taken_over is not None
    assert (queue.finish(slow), queue.fail(slow, "Error", delay=1)) == (False, False)
    queue.release(slow)
    assert [row[1:] for row in rows()] == [("running", 2)]
    assert queue.finish(taken_over) is True


def test_only_the_first_loss_of_a_worker_is_retried_at_once(db):
    record = make_job(retry=RetryDelays(5, 60))
    record.defer()
    for _ in range(2):
        assert queue.claim("default") is not None
        end_leases()
    run_jobs(raise_errors=False)
    assert ([row[1:] for row in rows()], calls) == ([("waiting", 2)], [])
    assert run_jobs(later=timedelta(seconds=59)) == 0
    assert run_jobs(later=timedelta(seconds=1)) == 1
    assert (rows(), len(calls)) == ([], 1)


def test_a_job_keeps_its_place_when_its_worker_is_lost(db):
    record = make_job()
    record.defer(account_id=1, text="a")
    record.defer(account_id=1, text="b")
    assert queue.claim("default") is not None
    end_leases()
    run_jobs()
    assert [arguments["text"] for _, arguments in calls] == ["a", "b"]


def claim_all(**options) -> list[int]:
    """Claim the due jobs of the default queue as a worker does, without running them. Return their accounts."""
    claimed: list[int] = []
    while job := queue.claim("default", after=claimed[-1] if claimed else -1, **options):
        claimed.append(job.account_id)
    return claimed


def test_accounts_take_turns(db):
    record = make_job()
    for account_id in (3, 3, 3, 3, 1, 0, 2, 1):
        record.defer(account_id=account_id)
    record.defer(account_id=2, _schedule_at=timezone.now() + timedelta(hours=1))
    assert claim_all() == [0, 1, 2, 3, 1, 3, 3, 3]


def test_an_account_has_a_limited_number_of_running_jobs(db):
    """Jobs without an account have no limit, and a job that has ended makes room for the next one."""
    record = make_job()
    for account_id in (3, 3, 3, 1, 0, 0):
        record.defer(account_id=account_id)
    assert claim_all(max_running=1) == [0, 1, 3, 0]
    end_leases()
    # After an outage of the database, the jobs still run. After the death of a worker, they do not.
    assert claim_all(max_running=1, take_over=False) == []
    assert claim_all(max_running=1) == [0, 1, 3, 0]
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM core_job WHERE state = 'running'")
    assert claim_all(max_running=1) == [3]


def test_a_job_knows_the_end_of_its_turn(db):
    def look() -> None:
        calls.append(has_time_left())
        time_slice_end.set(monotonic())
        calls.append(has_time_left())

    make_job(look, time_slice=20).defer()
    run_jobs()
    assert calls == [True, False]
    assert has_time_left() is True


def test_a_job_may_be_added_to_another_queue(db):
    make_job().defer(_queue="mail")
    assert queue.claim("default") is None
    assert queue.claim("mail") is not None


def test_a_released_job_does_not_lose_an_attempt(db):
    make_job().defer()
    claimed = queue.claim("default")
    assert claimed is not None
    queue.release(claimed)
    assert [row[1:] for row in rows()] == [("waiting", 0)]


def test_failed_jobs_are_erased_after_30_days(db):
    def fail() -> None:
        raise PermanentError

    make_job(fail).defer()
    run_jobs(raise_errors=False)

    for days, left in ((29, 1), (31, 0)):
        Job.objects.update(scheduled_at=timezone.now() - timedelta(days=days))
        housekeeping.erase_failed_jobs()
        assert Job.objects.count() == left


def test_a_job_knows_the_time_it_has_left(db):
    def look() -> None:
        calls.extend([has_time_left(20), has_time_left(40)])

    make_job(look, time_limit=30).defer()
    run_jobs()
    assert calls == [True, False]
    assert has_time_left() is True


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def test_periodic_jobs_are_deferred_once_for_each_time(db):
    def tick() -> None:
        calls.append("tick")

    known = {name: known for name, known in jobs.items() if known.period}
    for name in known:
        del jobs[name]
    periodic_job(minutes=10)(tick)
    first: dict[str, int] = {}
    second: dict[str, int] = {}
    # A worker that starts defers the job of the last time, unless another worker has deferred it.
    assert [defer_periodic(at("2026-01-01 10:15"), first), defer_periodic(at("2026-01-01 10:16"), second)] == [1, 0]
    # At most one job of a schedule waits.
    assert defer_periodic(at("2026-01-01 10:20"), first) == 0
    assert run_jobs() == 1
    assert [defer_periodic(at("2026-01-01 10:29:59"), first), defer_periodic(at("2026-01-01 10:30"), first)] == [0, 1]
    assert (run_jobs(), calls) == (1, ["tick", "tick"])
    # After the clock was set back, the job is deferred again.
    assert [defer_periodic(at("2026-01-01 09:05"), first), defer_periodic(at("2026-01-01 09:05"), second)] == [1, 0]
    assert [row.at.timestamp() for row in PeriodicTime.objects.all()] == [at("2026-01-01 09:00")]


def test_a_worker_that_starts_late_does_not_repeat_a_periodic_job(db):
    """It computed the time before another worker added the job of the next one."""
    for name in [name for name, known in jobs.items() if known.period]:
        del jobs[name]
    periodic_job(minutes=60, offset=5)(lambda: calls.append("tick"))
    assert defer_periodic(at("2026-01-01 10:05"), {}) == 1
    run_jobs()
    assert defer_periodic(at("2026-01-01 10:04:59"), {}) == 0
    assert defer_periodic(at("2026-01-01 11:05"), {}) == 1
