"""Numbers of jobs and of workers, for people who watch the service."""

from datetime import timedelta
from typing import NamedTuple

from django.contrib.postgres.functions import TransactionNow
from django.db import connection
from django.db.models import F

from core.jobs.queue import Heartbeat

# A worker without a heartbeat for this number of seconds is not counted. Workers themselves wait for less.
MAX_HEARTBEAT_AGE = 60

# `retried` counts those of the due and scheduled jobs that had an error.
COUNT = """
SELECT name,
    count(*) FILTER (WHERE state = 'waiting' AND scheduled_at <= now()) AS due,
    count(*) FILTER (WHERE state = 'waiting' AND scheduled_at > now()) AS scheduled,
    count(*) FILTER (WHERE state = 'waiting' AND error IS NOT NULL) AS retried,
    count(*) FILTER (WHERE state = 'running') AS running,
    count(*) FILTER (WHERE state = 'failed') AS failed,
    extract(epoch FROM max(now() - scheduled_at) FILTER (WHERE state = 'waiting' AND scheduled_at <= now()))::float8 AS longest_wait,
    (array_agg(error ORDER BY scheduled_at DESC) FILTER (WHERE error IS NOT NULL))[1] AS last_error
FROM core_job GROUP BY name ORDER BY name
"""


class JobCounts(NamedTuple):
    """The jobs of one name."""

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


def count_jobs() -> list[JobCounts]:
    with connection.cursor() as cursor:
        cursor.execute(COUNT)
        return [JobCounts(*row) for row in cursor.fetchall()]


def heartbeat_ages() -> list[float]:
    """Return the seconds since the last heartbeat of each worker, the longest first."""
    alive = Heartbeat.objects.filter(at__gt=TransactionNow() - timedelta(seconds=MAX_HEARTBEAT_AGE)).order_by("at")
    return [age.total_seconds() for age in alive.values_list(TransactionNow() - F("at"), flat=True)]
