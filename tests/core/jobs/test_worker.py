"""The worker as a process: running jobs, stopping, time limits, heartbeats."""

import faulthandler
import os
import signal
import threading
import time
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import InterfaceError, connection
from django.utils import timezone

from core.jobs import queue
from core.jobs import worker as worker_module
from core.jobs.queue import Heartbeat, Job
from core.jobs.worker import RESTART, Worker, run
from tests.support.jobs import rows_of_jobs, run_worker, wait_for_workers

pytestmark = pytest.mark.django_db(transaction=True)


def defer(name: str, **arguments) -> None:
    queue.insert("default", f"tests.support.worker_jobs.{name}", arguments)


def error_of_failed_job() -> str | None:
    """Return the error of the only failed job, without the periodic jobs that failed with their killed worker."""
    return Job.objects.get(state="failed", name__startswith="tests.").error


def test_it_works():
    """Jobs run when they are due. A worker that is stopped lets its job end."""
    defer("succeed")
    queue.insert("default", "tests.support.worker_jobs.succeed", {}, scheduled_at=timezone.now() + timedelta(hours=1))
    with run_worker("--threads", "2") as worker:
        wait_for_workers(lambda: rows_of_jobs() == [("succeed", "waiting", 0)])
        defer("fail")
        wait_for_workers(lambda: rows_of_jobs() == [("succeed", "waiting", 0), ("fail", "failed", 1)])
        with connection.cursor() as cursor:
            cursor.execute("UPDATE core_job SET scheduled_at = now() WHERE state = 'waiting'")
        wait_for_workers(lambda: rows_of_jobs() == [("fail", "failed", 1)])
        defer("hang", seconds=1)
        wait_for_workers(lambda: rows_of_jobs() == [("fail", "failed", 1), ("hang", "running", 1)])
        worker.terminate()
        output, _ = worker.communicate(timeout=60)
    assert (worker.returncode, rows_of_jobs()) == (0, [("fail", "failed", 1)])
    assert "failed after 1 attempts: PermanentError" in output
    assert "started with 2 threads" in output
    assert not Heartbeat.objects.exists()


def test_a_stopping_worker_puts_its_job_back():
    defer("hang", seconds=600)
    with run_worker("--shutdown-timeout", "0.1") as worker:
        wait_for_workers(lambda: rows_of_jobs() == [("hang", "running", 1)])
        worker.terminate()
        output, _ = worker.communicate(timeout=60)
    assert (worker.returncode, rows_of_jobs()) == (0, [("hang", "waiting", 0)])
    assert "is put back" in output


def test_a_stopping_worker_renews_its_leases(monkeypatch):
    """The job takes longer than a lease. No other worker takes it over meanwhile."""
    worker, ended, claims = Worker(heartbeat=0.1), threading.Event(), []
    defer("succeed")
    assert worker.claim("default") is not None
    worker.started = [threading.Thread(target=ended.wait)]
    worker.started[0].start()
    monkeypatch.setattr(queue, "release", lambda job: claims.append(queue.claim("default")))
    worker.leave(2 * worker.lease)
    faulthandler.cancel_dump_traceback_later()
    ended.set()
    assert claims == [None]


@pytest.mark.soak
def test_a_job_over_its_time_limit_ends_the_worker():
    """The attempt counts, and other jobs are put back."""
    defer("hang", seconds=600)
    defer("exceed")
    with run_worker() as worker:
        output, _ = worker.communicate(timeout=60)
    assert worker.returncode == RESTART
    assert rows_of_jobs() == [("hang", "waiting", 0), ("exceed", "failed", 1)]
    assert error_of_failed_job() == "TimeLimitExceeded"
    assert "exceeded its time limit of 1 s" in output


@pytest.mark.soak
def test_a_job_that_kills_its_worker_fails_after_its_attempts():
    # A connection was lost before the response to a claim, so no thread runs the job. It ends after its lease.
    defer("succeed")
    assert queue.claim("default", lease=0) is not None
    defer("crash")
    for _ in range(2):
        with run_worker("--heartbeat", "0.2") as worker:
            worker.communicate(timeout=60)
        assert worker.returncode == -signal.SIGKILL
    with run_worker("--heartbeat", "0.2") as worker:
        wait_for_workers(lambda: rows_of_jobs() == [("crash", "failed", 2)])
        assert error_of_failed_job() == "WorkerLost"
        # The worker goes on after the database was lost.
        for _ in range(2):
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE pid <> pg_backend_pid() AND datname = current_database() AND query LIKE '%core_%'"
                )
            defer("succeed")
            wait_for_workers(lambda: rows_of_jobs() == [("crash", "failed", 2)])
        assert worker.poll() is None


@pytest.mark.soak
def test_a_worker_that_was_suspended_does_not_change_a_job_that_was_taken_over():
    defer("hang", seconds=600)
    with run_worker("--heartbeat", "0.2", "--shutdown-timeout", "0") as first:
        wait_for_workers(lambda: rows_of_jobs() == [("hang", "running", 1)])
        os.kill(first.pid, signal.SIGSTOP)
        with run_worker("--heartbeat", "0.2", "--shutdown-timeout", "0"):
            # The second worker takes over the job and runs it.
            wait_for_workers(lambda: rows_of_jobs() == [("hang", "running", 2)])
            os.kill(first.pid, signal.SIGCONT)
            first.terminate()
            output, _ = first.communicate(timeout=60)
            assert "is put back" in output
            assert (first.returncode, rows_of_jobs()) == (0, [("hang", "running", 2)])


def test_a_worker_takes_over_jobs_only_after_regular_heartbeats(monkeypatch):
    monkeypatch.setattr(worker_module, "defer_periodic", lambda *_: 0)
    regular, again = [False] * 5 + [True], [False] * 5 + [True]
    for heartbeats, expected in (
        ([0, 2, 4, 6, 8, 10, 12], [*regular, True]),
        # The database was unavailable for 6 seconds. The other workers must be able to send a heartbeat first.
        ([0, 2, 4, 6, 8, 10, 16, 18, 20, 22, 24, 26], regular + again),
        # The clock of the database was set back.
        ([20, 22, 24, 26, 28, 30, 10, 12, 14, 16, 18, 20], regular + again),
    ):
        worker, times, taken_over = Worker(heartbeat=2), iter(heartbeats), []
        with monkeypatch.context() as patch:
            patch.setattr(queue, "beat", lambda *_, times=times, **__: 1000 + next(times))
            patch.setattr(queue, "claim", lambda *_, take_over, seen=taken_over, **__: seen.append(take_over))
            for _ in heartbeats:
                worker.maintain()
                worker.claim("default")
        assert taken_over == expected


def test_no_worker_takes_over_jobs_after_the_database_was_unavailable():
    """No worker has renewed its leases for a minute. The first that sends a heartbeat must not take over the jobs of the other."""
    first, second = Worker(), Worker()
    first.id, second.id = queue.register_worker(), queue.register_worker()
    defer("succeed")
    assert second.claim("default") is not None
    # The first worker has run for a long time.
    first.regular_since, first.last_heartbeat = time.time() - 3600, time.time() - 60
    Job.objects.filter(state="running").update(leased_until=timezone.now() - timedelta(seconds=50))
    first.maintain()
    assert first.claim("default") is None
    # After regular heartbeats, it takes over the job, unless the second one has renewed the lease.
    first.regular_since -= 3600
    second.maintain()
    assert first.claim("default") is None
    Job.objects.filter(state="running").update(leased_until=timezone.now() - timedelta(seconds=50))
    assert first.claim("default") is not None


def test_it_rejects_invalid_arguments():
    for arguments, message in {
        ("--threads", "0"): "write a whole number from 1 to 64",
        ("--threads", "x"): "write a whole number from 1 to 64",
        ("--heartbeat", "11"): "write a number from 0.1 to 10",
        ("--shutdown-timeout", "nan"): "write a number from 0 to 3600",
        ("--database-wait", "-1"): "write a whole number from 0 to 3600",
    }.items():
        with pytest.raises(CommandError, match=message):
            call_command("worker", *arguments)


def test_it_ends_with_an_error_without_a_database():
    with run_worker("--database-wait", "0", environment={"DATABASE_URL": "postgresql://a@127.0.0.1:1/b"}) as worker:
        output, _ = worker.communicate(timeout=60)
    assert worker.returncode == 1
    assert "The database does not answer" in output


def test_the_outcome_of_a_job_is_recorded_when_the_database_is_back(monkeypatch):
    """The connection is lost when a job ends, and the worker stops. The job must not run again."""
    monkeypatch.setattr(worker_module, "DATABASE_RETRY", 0)
    defer("succeed")
    worker = Worker()
    job = worker.claim("default")
    assert job is not None
    record, runs = worker_module.record, []

    def lose_database(*arguments) -> None:
        worker.stop.set()
        monkeypatch.setattr(worker_module, "record", record)
        raise InterfaceError("the connection is closed")

    monkeypatch.setattr(worker_module, "run", lambda job: runs.append(run(job)))
    monkeypatch.setattr(worker_module, "record", lose_database)
    worker.run_job(job)
    assert (rows_of_jobs(), len(runs)) == ([], 1)


def test_a_worker_without_one_of_its_threads_starts_again():
    worker = Worker()
    worker.started = [threading.Thread()]
    assert worker.watch() == RESTART
    faulthandler.cancel_dump_traceback_later()
