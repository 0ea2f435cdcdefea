"""The table of jobs and its statements. All times are those of the clock of the database."""

import json
from collections.abc import Collection
from datetime import datetime, timedelta

from django.contrib.postgres.functions import TransactionNow
from django.db import connection, models, transaction
from django.db.models import Q, QuerySet

from core.db import locks
from core.db.prepared import Parameters, ResultRow


class Job(models.Model):
    """A call of a registered function. The row is deleted when the function has succeeded."""

    class State(models.TextChoices):
        WAITING, RUNNING, FAILED = "waiting", "running", "failed"

    queue = models.CharField(max_length=255)
    # The name of the function.
    name = models.CharField(max_length=255)
    # The account among the arguments, or 0. It is not a foreign key: the function decides what to do for a deleted account.
    account_id = models.BigIntegerField(db_default=0)
    arguments = models.JSONField(db_default={})
    # Of the jobs with the same key, at most one waits.
    key = models.CharField(max_length=255, null=True)
    state = models.CharField(max_length=255, choices=State.choices, db_default=State.WAITING)
    # When the job is due, or when it failed.
    scheduled_at = models.DateTimeField()
    # The end of the lease of a running job. Its worker renews the lease.
    leased_until = models.DateTimeField(null=True)
    # The number of attempts, including the running one.
    attempts = models.IntegerField(db_default=0)
    # The type of the last error. Its message is not stored, because it may contain personal data.
    error = models.CharField(max_length=255, null=True)

    # Whether the worker of the last attempt was killed. `claim` sets it.
    is_lost: bool

    class Meta:
        indexes = [
            models.Index(fields=["queue", "scheduled_at"], condition=~Q(state="failed"), name="job_due"),
            models.Index(
                fields=["queue", "account_id", "scheduled_at", "id"], condition=~Q(state="failed"), name="job_turn"
            ),
            models.Index(fields=["queue", "account_id"], condition=Q(state="running"), name="job_running"),
        ]
        constraints = [models.UniqueConstraint(fields=["key"], condition=Q(state="waiting"), name="job_key")]

    def __str__(self) -> str:
        # The arguments may contain personal data.
        return f"job {self.id} {self.name}" + (f" of account {self.account_id}" if self.account_id else "")


class Heartbeat(models.Model):
    """A worker, and when it was alive."""

    at = models.DateTimeField()


class PeriodicTime(models.Model):
    """The last time of its schedule for which a periodic job was added."""

    name = models.CharField(max_length=255)
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["name"], name="periodic_time_name")]


INSERT = """
INSERT INTO core_job (queue, name, account_id, arguments, key, scheduled_at)
SELECT %s, %s, coalesce((arguments->>'account_id')::bigint, 0), arguments, %s, coalesce(%s::timestamptz, now())
FROM unnest(%s::jsonb[]) AS arguments ON CONFLICT (key) WHERE state = 'waiting' DO NOTHING
"""

# A time before the last one was computed earlier by a worker that has just started. After the clock was set back, it replaces the last one.
INSERT_PERIODIC = """
WITH new AS (
    INSERT INTO core_periodictime AS last (name, at) VALUES (%(name)s, to_timestamp(%(at)s))
    ON CONFLICT (name) DO UPDATE SET at = EXCLUDED.at WHERE last.at < EXCLUDED.at OR last.at > to_timestamp(%(now)s + 60) RETURNING name
)
INSERT INTO core_job (queue, name, key, scheduled_at) SELECT %(queue)s, name, name, now() FROM new
ON CONFLICT (key) WHERE state = 'waiting' DO NOTHING
"""

OPEN = "state <> 'failed' AND queue = %(queue)s"
DUE = f"{OPEN} AND scheduled_at <= now() AND (leased_until IS NULL OR leased_until < now() AND %(take_over)s)"
# The recursive query reads one index entry for each account with jobs, up to the first account with a due one. A scan of the index in this
# order would read all jobs that are scheduled for later.
CLAIM = f"""
WITH RECURSIVE account (id) AS (
    (SELECT account_id FROM core_job WHERE {OPEN} AND account_id > %(after)s ORDER BY account_id LIMIT 1)
    UNION ALL
    SELECT (SELECT account_id FROM core_job WHERE {OPEN} AND account_id > account.id ORDER BY account_id LIMIT 1)
    FROM account WHERE account.id IS NOT NULL
), due AS (
    SELECT job.* FROM account CROSS JOIN LATERAL (
        SELECT id, leased_until IS NOT NULL AS is_lost FROM core_job WHERE {DUE} AND account_id = account.id
            AND (%(max_running)s::int IS NULL OR account.id = 0 OR %(max_running)s::int > (
                SELECT count(*) FROM core_job
                WHERE state = 'running' AND queue = %(queue)s AND account_id = account.id
                    AND (leased_until > now() OR NOT %(take_over)s)
            ))
        ORDER BY scheduled_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS job LIMIT 1
)
UPDATE core_job SET state = 'running', attempts = attempts + 1, leased_until = now() + make_interval(secs => %(lease)s), key = NULL
FROM due WHERE core_job.id = due.id RETURNING core_job.*, is_lost
"""  # noqa: S608

BEAT = """
WITH renewed AS (
    UPDATE core_job SET leased_until = now() + make_interval(secs => %(lease)s) WHERE state = 'running' AND id = ANY (%(running)s)
), dead AS (
    DELETE FROM core_heartbeat WHERE at < now() - interval '1 hour' AND id <> %(id)s
)
INSERT INTO core_heartbeat (id, at) VALUES (%(id)s, now()) ON CONFLICT (id) DO UPDATE SET at = EXCLUDED.at
RETURNING extract(epoch FROM at)::float8
"""


def _execute(sql: str, parameters: Parameters) -> tuple[int, list[ResultRow]]:
    """Return the number of rows, and the rows."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.rowcount, cursor.fetchall() if cursor.description else []


def insert(
    queue: str, name: str, *many: dict[str, object], key: str | None = None, scheduled_at: datetime | None = None
) -> int:
    """Insert a job for each of the arguments, unless one with the same key is waiting. Return the number of jobs."""
    return _execute(INSERT, [queue, name, key, scheduled_at, [json.dumps(arguments) for arguments in many]])[0]


def insert_periodic(queue: str, name: str, *, at: float, now: float) -> int:
    """Insert the periodic job for a time, unless it was inserted for this time or is waiting. Return the number of jobs."""
    return _execute(INSERT_PERIODIC, {"queue": queue, "name": name, "at": at, "now": now})[0]


def claim(
    queue: str, *, after: int = -1, max_running: int | None = None, lease: float = 10, take_over: bool = True
) -> Job | None:
    """Lease the next due job of the queue, and count the attempt. With `take_over`, include running jobs whose lease has ended.

    Accounts take turns: the job belongs to the first account with an id higher than `after`, or else to the first one. Of the jobs of an
    account, the one that has been due for the longest time is claimed. Leave out accounts of which `max_running` jobs of the queue run.
    """
    parameters = {"queue": queue, "max_running": max_running, "lease": lease, "take_over": take_over}
    if not _execute(f"SELECT FROM core_job WHERE {DUE} LIMIT 1", parameters)[0]:
        return None
    with transaction.atomic():
        # Two workers that count at the same time would exceed the limit.
        locks.acquire(("claim", queue))
        for start in dict.fromkeys((after, -1)):
            for job in Job.objects.raw(CLAIM, parameters | {"after": start}):
                return job
    return None


def _claimed(job: Job) -> QuerySet[Job]:
    """Return the row of a claimed job, unless another worker has taken it over since."""
    return Job.objects.filter(id=job.id, state=Job.State.RUNNING, attempts=job.attempts)


def finish(job: Job) -> bool:
    """Delete a job that has succeeded. Return False if another worker has taken it over."""
    return bool(_claimed(job).delete()[0])


def fail(job: Job, error: str, *, delay: float | None, attempts: int | None = None) -> bool:
    """Record the type of the error. Let the job be due after `delay` seconds, or fail if it is None. Return False as `finish` does."""
    values = {
        "state": Job.State.FAILED if delay is None else Job.State.WAITING,
        "scheduled_at": TransactionNow() + timedelta(seconds=delay or 0),
        "attempts": job.attempts if attempts is None else attempts,
        "error": error[:255],
    }
    return bool(_claimed(job).update(**values, leased_until=None))


def release(job: Job) -> None:
    """Let a job wait again, without counting the attempt."""
    _claimed(job).update(state=Job.State.WAITING, leased_until=None, attempts=job.attempts - 1)


def register_worker() -> int:
    return Heartbeat.objects.create(at=TransactionNow()).id


def beat(worker_id: int, running: Collection[int] = (), *, lease: float = 10) -> float:
    """Record that the worker is alive, and renew the leases of its running jobs. Return the time in seconds."""
    _count, [(now,)] = _execute(BEAT, {"id": worker_id, "running": list(running), "lease": lease})
    return float(now)
