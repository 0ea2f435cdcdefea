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

from core.jobs import execution, queue
from core.jobs.worker import RESTART, Worker
from tests.support.jobs import rows_of_jobs, run_worker, wait_for_workers

pytestmark = pytest.mark.django_db(transaction=True)


def defer(name: str, **arguments) -> None:
    queue.insert("default", f"tests.support.worker_jobs.{name}", arguments)


def error_of_failed_job() -> str:
    """Return the error of the only failed job, without the periodic jobs that failed with their killed worker."""
    [(*_, error, _at)] = [row for row in queue.failed(limit=100) if row[1].startswith("tests.")]
    return error


def test_it_works():
    defer("succeed")
    with run_worker("--threads", "2") as worker:
        wait_for_workers(lambda: rows_of_jobs() == [])
        defer("fail")
        wait_for_workers(lambda: rows_of_jobs() == [("fail", "failed", 1)])
        worker.terminate()
        output, _ = worker.communicate(timeout=60)
    assert worker.returncode == 0
    assert "failed after 1 attempts: PermanentError" in output
    assert "started with 2 threads" in output
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM procrastinate_workers")
        assert cursor.rowcount == 0


def test_a_stopping_worker_puts_its_job_back():
    defer("hang", seconds=600)
    with run_worker("--shutdown-timeout", "0.1") as worker:
        wait_for_workers(lambda: rows_of_jobs() == [("hang", "doing", 1)])
        worker.terminate()
        output, _ = worker.communicate(timeout=60)
    assert (worker.returncode, rows_of_jobs()) == (0, [("hang", "todo", 0)])
    assert "is put back" in output


def test_a_stopping_worker_lets_its_job_end():
    defer("hang", seconds=1)
    with run_worker() as worker:
        wait_for_workers(lambda: rows_of_jobs() == [("hang", "doing", 1)])
        worker.terminate()
        worker.communicate(timeout=60)
    assert (worker.returncode, rows_of_jobs()) == (0, [])


@pytest.mark.soak
def test_a_job_over_its_time_limit_ends_the_worker():
    """The attempt counts, and other jobs are put back."""
    defer("hang", seconds=600)
    defer("exceed")
    with run_worker() as worker:
        output, _ = worker.communicate(timeout=60)
    assert worker.returncode == RESTART
    assert rows_of_jobs() == [("hang", "todo", 0), ("exceed", "failed", 1)]
    assert error_of_failed_job() == "TimeLimitExceeded"
    assert "exceeded its time limit of 1 s" in output


@pytest.mark.soak
def test_a_job_that_kills_its_worker_fails_after_its_attempts():
    defer("crash")
    for _ in range(2):
        with run_worker("--heartbeat", "0.2") as worker:
            worker.communicate(timeout=60)
        assert worker.returncode == -signal.SIGKILL
    with run_worker("--heartbeat", "0.2"):
        wait_for_workers(lambda: rows_of_jobs() == [("crash", "failed", 2)])
    assert error_of_failed_job() == "WorkerLost"


@pytest.mark.soak
def test_a_worker_that_was_suspended_for_too_long_starts_again():
    defer("hang", seconds=600)
    with run_worker("--heartbeat", "0.2") as first:
        wait_for_workers(lambda: rows_of_jobs() == [("hang", "doing", 1)])
        os.kill(first.pid, signal.SIGSTOP)
        with run_worker("--heartbeat", "0.2", "--shutdown-timeout", "0"):
            # The second worker takes over the job and runs it.
            wait_for_workers(lambda: rows_of_jobs() == [("hang", "doing", 2)])
            os.kill(first.pid, signal.SIGCONT)
            first.communicate(timeout=60)
            assert first.returncode == RESTART
            assert rows_of_jobs() == [("hang", "doing", 2)]


@pytest.mark.parametrize(
    ("heartbeats", "expected"),
    [
        ([0, 2, 4, 6, 8, 10, 12], [False] * 5 + [True, True]),
        # The database was unavailable for 6 seconds. The other workers must be able to send a heartbeat first.
        ([0, 2, 4, 6, 8, 10, 16, 18, 20, 22, 24, 26], [False] * 5 + [True] + [False] * 5 + [True]),
        # The clock of the database was set back.
        ([20, 22, 24, 26, 28, 30, 10, 12, 14, 16, 18, 20], [False] * 5 + [True] + [False] * 5 + [True]),
    ],
)
def test_a_worker_takes_over_jobs_only_after_regular_heartbeats(heartbeats, expected):
    worker = Worker(heartbeat=2)
    assert [worker.has_regular_heartbeats(time) for time in heartbeats] == expected


def test_no_worker_takes_over_jobs_after_the_database_was_unavailable(monkeypatch):
    """No worker has sent a heartbeat for a minute. The first that sends one must not take over the jobs of the other."""
    first, second = Worker(), Worker()
    for worker in (first, second):
        worker.worker_id = queue.register_worker()
    defer("succeed")
    assert queue.claim("default", second.worker_id) is not None
    # The first worker has run for a long time.
    first.last_heartbeat, first.regular_since = time.time() - 60, 0
    with connection.cursor() as cursor:
        cursor.execute("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '60 seconds'")
    monkeypatch.setattr(first.schedule, "defer_due", lambda now: 0)
    assert first.maintain() is True
    assert rows_of_jobs() == [("succeed", "doing", 1)]
    # After regular heartbeats, it takes them over.
    first.regular_since = 0
    assert first.maintain() is True
    assert rows_of_jobs() == [("succeed", "todo", 1)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--threads", "0"], "write a whole number from 1 to 64"),
        (["--threads", "x"], "write a whole number from 1 to 64"),
        (["--heartbeat", "11"], "write a number from 0.1 to 10"),
        (["--shutdown-timeout", "nan"], "write a number from 0 to 3600"),
        (["--database-wait", "-1"], "write a whole number from 0 to 3600"),
    ],
)
def test_it_rejects_invalid_arguments(arguments, message):
    with pytest.raises(CommandError, match=message):
        call_command("worker", *arguments)


@pytest.mark.soak
def test_it_goes_on_after_the_database_was_lost():
    with run_worker("--heartbeat", "0.5") as worker:
        wait_for_workers(lambda: fetch_all("SELECT FROM procrastinate_workers") == [()])
        for _ in range(2):
            fetch_all(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND datname = current_database() AND query LIKE '%procrastinate%'"
            )
            defer("succeed")
            wait_for_workers(lambda: rows_of_jobs() == [])
        assert worker.poll() is None


def fetch_all(sql: str) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()


@pytest.mark.soak
def test_an_orphaned_claim_is_released():
    """The connection was lost before the response to the claim, so no thread runs the job."""
    with run_worker("--heartbeat", "0.2"):
        wait_for_workers(lambda: fetch_all("SELECT FROM procrastinate_workers"))
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO procrastinate_jobs (queue_name, task_name, status, attempts, worker_id, scheduled_at)"
                " SELECT 'default', 'tests.support.worker_jobs.succeed', 'doing', 1, id, now() FROM procrastinate_workers"
            )
        wait_for_workers(lambda: rows_of_jobs() == [])


def test_scheduled_jobs_wait():
    queue.insert("default", "tests.support.worker_jobs.succeed", {}, schedule_at=timezone.now() + timedelta(hours=1))
    defer("fail")
    with run_worker():
        wait_for_workers(lambda: rows_of_jobs() == [("succeed", "todo", 0), ("fail", "failed", 1)])
        with connection.cursor() as cursor:
            cursor.execute("UPDATE procrastinate_jobs SET scheduled_at = now() WHERE status = 'todo'")
        wait_for_workers(lambda: rows_of_jobs() == [("fail", "failed", 1)])


def test_it_ends_with_an_error_without_a_database():
    with run_worker("--database-wait", "0", environment={"DATABASE_URL": "postgresql://a@127.0.0.1:1/b"}) as worker:
        output, _ = worker.communicate(timeout=60)
    assert worker.returncode == 1
    assert "The database does not answer" in output


def test_the_outcome_of_a_job_is_recorded_when_the_database_is_back(monkeypatch):
    """The connection is lost when a job ends, and the worker stops. The job must not run again."""
    defer("succeed")
    worker = Worker()
    worker.worker_id = queue.register_worker()
    claimed = queue.claim("default", worker.worker_id)
    assert claimed is not None
    worker.running[claimed] = time.monotonic() + 60
    record = execution.record

    def lose_database(*arguments) -> None:
        worker.stop.set()
        monkeypatch.setattr(execution, "record", record)
        raise InterfaceError("the connection is closed")

    monkeypatch.setattr(execution, "run", lambda claimed: None)
    monkeypatch.setattr(execution, "record", lose_database)
    worker.run_job(claimed)
    assert rows_of_jobs() == [("succeed", "doing", 1)]
    worker.leave()
    assert rows_of_jobs() == []


def test_a_worker_without_one_of_its_threads_starts_again():
    worker = Worker()
    worker.worker_id = queue.register_worker()
    worker.started = [threading.Thread()]
    assert worker.watch() == RESTART
    faulthandler.cancel_dump_traceback_later()
