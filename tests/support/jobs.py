"""Run jobs in tests: at once in this process, or by a real worker process."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

from django.db import connection

from core.jobs import queue
from core.jobs.registry import jobs, queues
from core.jobs.worker import record, run

ROOT = Path(__file__).resolve().parents[2]


def run_jobs(*, later: timedelta = timedelta(), raise_errors: bool = True) -> int:
    """Run all jobs that are due, including those that these jobs defer. Return their number.

    Due times are moved back by `later` first. An error is raised, or recorded as by a worker if `raise_errors` is false.
    """
    if later:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE core_job SET scheduled_at = scheduled_at - %s WHERE state = 'waiting'", [later])
    number = 0
    while claimed := next((job for name in queues if (job := queue.claim(name)) is not None), None):
        number += 1
        error = run(claimed)
        if error is not None and raise_errors:
            raise error
        record(claimed, error)
    return number


def run_housekeeping() -> None:
    """Run each periodic job once, whether it is due or not."""
    for job in list(jobs.values()):
        if job.period:
            job()


def rows_of_jobs() -> list[tuple]:
    """Return (name without its module, status, attempts) of all jobs but the periodic ones."""
    periodic = [name for name, known in jobs.items() if known.period]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT split_part(name, '.', -1), state, attempts FROM core_job WHERE NOT name = ANY(%s) ORDER BY id",
            [periodic],
        )
        return cursor.fetchall()


def wait_for_workers(condition: Callable[[], object], seconds: float = 120) -> None:
    """Wait until the condition is true. Worker processes change the rows meanwhile."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, rows_of_jobs()
        time.sleep(0.02)


@contextlib.contextmanager
def run_worker(*arguments: str, environment: dict[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    """Run a worker process on the database of the tests, which must be committed. Stop it at the end."""
    settings = connection.settings_dict
    url = os.environ["DATABASE_URL"].rpartition("/")[0] + f"/{settings['NAME']}"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.worker", *arguments],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": url, "PYTHONUNBUFFERED": "1"} | (environment or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
        elif process.stdout:
            process.stdout.close()
