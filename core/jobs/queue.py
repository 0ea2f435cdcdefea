"""The statements on procrastinate's tables.

They replace procrastinate's own functions where those have other semantics: a conflict of queueing locks would abort the caller's
transaction, attempts would be counted when a job ends, and the search for a due job would read all jobs that are scheduled for later.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from core.db import locks

# The maximum number of jobs of dead workers that one transaction requeues.
STALLED_BATCH = 100
# How long failed jobs are kept, in days.
FAILED_JOB_RETENTION = 30
# The account of a job, or 0. The index `core_job_turn` has this expression.
ACCOUNT = "coalesce((args->>'account_id')::bigint, 0)"


@dataclass(frozen=True)
class ClaimedJob:
    """A job that a worker runs."""

    id: int
    name: str
    arguments: dict[str, Any] = field(compare=False)
    # The number of attempts, including this one.
    attempt: int
    worker_id: int | None

    @property
    def account_id(self) -> int:
        """The account of the job, or 0."""
        return self.arguments.get("account_id") or 0

    def __str__(self) -> str:
        # The arguments may contain personal data.
        return f"job {self.id} {self.name}" + (f" of account {self.account_id}" if self.account_id else "")


def _execute(sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall() if cursor.description else []


def insert(
    queue: str,
    name: str,
    arguments: dict[str, Any],
    *,
    schedule_at: datetime | None = None,
    queueing_lock: str | None = None,
) -> bool:
    """Insert a job, unless one with the same queueing lock is waiting. Return whether it was inserted."""
    rows = _execute(
        """
        INSERT INTO procrastinate_jobs (queue_name, task_name, args, scheduled_at, queueing_lock)
        VALUES (%s, %s, %s::jsonb, coalesce(%s::timestamptz, now()), %s)
        ON CONFLICT (queueing_lock) WHERE status = 'todo' DO NOTHING RETURNING id
        """,
        [queue, name, json.dumps(arguments), schedule_at, queueing_lock],
    )
    return bool(rows)


def insert_many(queue: str, name: str, many: Sequence[Any], *, schedule_at: datetime | None = None) -> None:
    _execute(
        """
        INSERT INTO procrastinate_jobs (queue_name, task_name, args, scheduled_at)
        SELECT %s, %s, arguments, coalesce(%s::timestamptz, now()) FROM unnest(%s::jsonb[]) AS arguments
        """,
        [queue, name, schedule_at, [json.dumps(arguments) for arguments in many]],
    )


def insert_periodic(queue: str, name: str, timestamp: int) -> bool:
    """Insert the job of a periodic job for a time, unless one was inserted for this time. Return whether it was inserted."""
    rows = _execute(
        """
        WITH new AS (
            INSERT INTO procrastinate_periodic_defers (task_name, periodic_id, defer_timestamp) VALUES (%(name)s, '', %(timestamp)s)
            ON CONFLICT DO NOTHING RETURNING task_name
        ), old AS (
            DELETE FROM procrastinate_periodic_defers WHERE task_name IN (SELECT task_name FROM new) AND defer_timestamp < %(timestamp)s
        )
        INSERT INTO procrastinate_jobs (queue_name, task_name, scheduled_at, queueing_lock)
        SELECT %(queue)s, %(name)s, now(), %(name)s FROM new
        ON CONFLICT (queueing_lock) WHERE status = 'todo' DO NOTHING RETURNING id
        """,
        {"queue": queue, "name": name, "timestamp": timestamp},
    )
    return bool(rows)


# Jobs of accounts take turns: the next job belongs to the first account after %(after)s, by its id, that has a due job. The recursive query
# reads one row of the index for each account with waiting jobs, and ends at the first account with a due one.
CLAIM = f"""
WITH RECURSIVE accounts (account) AS (
    (
        SELECT {ACCOUNT} AS account FROM procrastinate_jobs
        WHERE status = 'todo' AND queue_name = %(queue)s AND {ACCOUNT} > %(after)s ORDER BY {ACCOUNT} LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT {ACCOUNT} FROM procrastinate_jobs
        WHERE status = 'todo' AND queue_name = %(queue)s AND {ACCOUNT} > accounts.account ORDER BY {ACCOUNT} LIMIT 1
    ) FROM accounts WHERE accounts.account IS NOT NULL
), due AS (
    SELECT job.id FROM accounts CROSS JOIN LATERAL (
        SELECT id FROM procrastinate_jobs
        WHERE status = 'todo' AND queue_name = %(queue)s AND {ACCOUNT} = accounts.account AND scheduled_at <= now()
            AND (%(max_running)s::int IS NULL OR accounts.account = 0 OR %(max_running)s::int > (
                SELECT count(*) FROM procrastinate_jobs
                WHERE status = 'doing' AND queue_name = %(queue)s AND {ACCOUNT} = accounts.account
            ))
        ORDER BY scheduled_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS job LIMIT 1
)
UPDATE procrastinate_jobs SET status = 'doing', attempts = attempts + 1, worker_id = %(worker_id)s, queueing_lock = NULL
WHERE id = (SELECT id FROM due) RETURNING id, task_name, args, attempts
"""  # noqa: S608
HAS_DUE = "SELECT 1 FROM procrastinate_jobs WHERE status = 'todo' AND queue_name = %s AND scheduled_at <= now() LIMIT 1"


def claim(queue: str, worker_id: int | None, *, after: int = -1, max_running: int | None = None) -> ClaimedJob | None:
    """Claim the next due job of the queue, and count the attempt.

    Accounts take turns: the job belongs to the first account with an id higher than `after`, or else to the first one. Of the jobs of an
    account, the one that has been due for the longest time is claimed. Leave out accounts of which `max_running` jobs of the queue run.
    """
    if not _execute(HAS_DUE, [queue]):
        return None
    with transaction.atomic():
        if max_running is not None:
            # Two workers that count at the same time would exceed the limit.
            locks.acquire(("claim", queue))
        for start in (after, -1) if after >= 0 else (-1,):
            parameters = {"queue": queue, "worker_id": worker_id, "after": start, "max_running": max_running}
            for id, name, arguments, attempt in _execute(CLAIM, parameters):
                values = arguments if isinstance(arguments, dict) else json.loads(arguments)
                return ClaimedJob(id, name, values, attempt, worker_id)
    return None


# A job that was requeued meanwhile belongs to another worker or attempt.
_IS_MINE = "id = %s AND status = 'doing' AND worker_id IS NOT DISTINCT FROM %s AND attempts = %s"


def finish(job: ClaimedJob) -> bool:
    """Delete a job that has succeeded. Return False if it was requeued meanwhile."""
    return bool(
        _execute(
            f"DELETE FROM procrastinate_jobs WHERE {_IS_MINE} RETURNING id",  # noqa: S608
            [job.id, job.worker_id, job.attempt],
        )
    )


def fail(job: ClaimedJob, error: str, *, delay: float | None) -> bool:
    """Record the type of the error, and reschedule the job. Return False if it was requeued meanwhile.

    `delay` is in seconds. With 0, the job keeps its place in the queue. With None, it is not tried again.
    """
    rows = _execute(
        f"""
        WITH job AS (
            UPDATE procrastinate_jobs SET status = %s::procrastinate_job_status, worker_id = NULL,
                scheduled_at = CASE WHEN %s THEN scheduled_at ELSE now() + make_interval(secs => %s) END
            WHERE {_IS_MINE} RETURNING id, attempts
        )
        INSERT INTO core_joberror (job_id, attempt, error, at) SELECT id, attempts, %s, now() FROM job
        ON CONFLICT (job_id) DO UPDATE SET attempt = EXCLUDED.attempt, error = EXCLUDED.error, at = EXCLUDED.at RETURNING job_id
        """,  # noqa: S608
        [
            "failed" if delay is None else "todo",
            delay == 0,
            delay or 0,
            job.id,
            job.worker_id,
            job.attempt,
            error[:255],
        ],
    )
    return bool(rows)


def release(job: ClaimedJob) -> None:
    """Requeue a job that has not ended, without counting the attempt."""
    _execute(
        f"UPDATE procrastinate_jobs SET status = 'todo', attempts = attempts - 1, worker_id = NULL WHERE {_IS_MINE}",  # noqa: S608
        [job.id, job.worker_id, job.attempt],
    )


def register_worker() -> int:
    return _execute("SELECT worker_id FROM procrastinate_register_worker_v1()")[0][0]


def unregister_worker(worker_id: int) -> None:
    """Delete the row of the worker. Jobs that it has not ended become stalled."""
    _execute("SELECT procrastinate_unregister_worker_v1(%s)", [worker_id])


def heartbeat(worker_id: int) -> float | None:
    """Record that the worker is alive. Return the database time in seconds, or None if the worker was considered dead meanwhile."""
    rows = _execute(
        """
        UPDATE procrastinate_workers SET last_heartbeat = now() WHERE id = %s
        RETURNING extract(epoch FROM last_heartbeat)::float8
        """,
        [worker_id],
    )
    return rows[0][0] if rows else None


def jobs_of(worker_id: int) -> list[ClaimedJob]:
    """Return the jobs that the worker has claimed."""
    rows = _execute(
        "SELECT id, task_name, attempts FROM procrastinate_jobs WHERE worker_id = %s AND status = 'doing'", [worker_id]
    )
    return [ClaimedJob(id, name, {}, attempt, worker_id) for id, name, attempt in rows]


def take_stalled(seconds: float) -> list[ClaimedJob]:
    """Return jobs of workers that have had no heartbeat for a time, locked until the caller's transaction ends."""
    rows = _execute(
        """
        SELECT job.id, task_name, attempts, worker_id FROM procrastinate_jobs AS job
        LEFT JOIN procrastinate_workers AS worker ON worker.id = worker_id
        WHERE status = 'doing' AND (worker.id IS NULL OR last_heartbeat < now() - make_interval(secs => %s))
        ORDER BY job.id LIMIT %s FOR UPDATE OF job SKIP LOCKED
        """,
        [seconds, STALLED_BATCH],
    )
    return [ClaimedJob(id, name, {}, attempt, worker_id) for id, name, attempt, worker_id in rows]


def remove_dead_workers(seconds: float) -> None:
    """Delete the rows of workers that have had no heartbeat for a time, and have no jobs any more."""
    _execute(
        """
        DELETE FROM procrastinate_workers AS worker WHERE last_heartbeat < now() - make_interval(secs => %s)
        AND NOT EXISTS (SELECT FROM procrastinate_jobs WHERE worker_id = worker.id AND status = 'doing')
        """,
        [seconds],
    )


def heartbeat_ages(max_age: float) -> list[float]:
    """Return the seconds since the last heartbeat of each worker, the longest first. Leave out workers with more than `max_age`."""
    rows = _execute(
        """
        SELECT extract(epoch FROM now() - last_heartbeat)::float8 FROM procrastinate_workers
        WHERE last_heartbeat > now() - make_interval(secs => %s) ORDER BY last_heartbeat
        """,
        [max_age],
    )
    return [age for (age,) in rows]


@dataclass(frozen=True)
class JobCounts:
    """The jobs of one name. `retried` counts those of `due` and `scheduled` that had an error."""

    name: str
    due: int
    scheduled: int
    retried: int
    running: int
    failed: int
    # How long the oldest due job has waited, in seconds.
    longest_wait: float | None
    # The type of the latest error of these jobs.
    last_error: str | None


def count() -> list[JobCounts]:
    """Return the numbers of jobs of each name."""
    rows = _execute(
        """
        SELECT task_name,
            count(*) FILTER (WHERE status = 'todo' AND scheduled_at <= now()),
            count(*) FILTER (WHERE status = 'todo' AND scheduled_at > now()),
            count(*) FILTER (WHERE status = 'todo' AND job_id IS NOT NULL),
            count(*) FILTER (WHERE status = 'doing'),
            count(*) FILTER (WHERE status = 'failed'),
            extract(epoch FROM max(now() - scheduled_at) FILTER (WHERE status = 'todo' AND scheduled_at <= now()))::float8,
            (array_agg(error ORDER BY at DESC) FILTER (WHERE error IS NOT NULL))[1]
        FROM procrastinate_jobs AS job LEFT JOIN core_joberror ON job_id = job.id GROUP BY 1 ORDER BY 1
        """
    )
    return [JobCounts(*row) for row in rows]


def failed(*, limit: int, after: int = 0) -> list[tuple]:
    """Return (id, name, account id, attempts, type of the error, time of the error) of failed jobs."""
    return _execute(
        """
        SELECT job.id, task_name, args->>'account_id', attempts, error, at FROM procrastinate_jobs AS job
        LEFT JOIN core_joberror ON job_id = job.id WHERE status = 'failed' AND job.id > %s ORDER BY job.id LIMIT %s
        """,
        [after, limit],
    )


def retry_failed(id: int | None = None) -> int:
    """Make one failed job, or all, due now, with zero attempts counted. Return the number of jobs."""
    rows = _execute(
        """
        UPDATE procrastinate_jobs SET status = 'todo', attempts = 0, scheduled_at = now()
        WHERE status = 'failed' AND (%s::bigint IS NULL OR id = %s::bigint) RETURNING id
        """,
        [id, id],
    )
    return len(rows)


def delete(id: int) -> bool:
    """Delete a job unless it is running. Return whether it was deleted."""
    return bool(_execute("DELETE FROM procrastinate_jobs WHERE id = %s AND status <> 'doing' RETURNING id", [id]))


def erase_failed(*, limit: int) -> int:
    """Erase at most `limit` jobs that failed more than `FAILED_JOB_RETENTION` days ago. Return their number."""
    # `fail` sets `scheduled_at` to the time of the failure.
    rows = _execute(
        """
        DELETE FROM procrastinate_jobs WHERE id = ANY(ARRAY(
            SELECT id FROM procrastinate_jobs WHERE status = 'failed' AND scheduled_at < now() - make_interval(days => %s) LIMIT %s
        )) RETURNING id
        """,
        [FAILED_JOB_RETENTION, limit],
    )
    return len(rows)
