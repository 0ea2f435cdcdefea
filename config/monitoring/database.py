"""The metrics that the database has: jobs, followers of the change feed, connections."""

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from django.db import DatabaseError, InterfaceError, connection
from prometheus_client.core import GaugeMetricFamily, Metric

from core.changes.followers import PAUSED_UNTIL, change_followers
from core.db.time_limit import TooSlow, set_client_timeout, time_limit
from core.jobs.counts import heartbeat_ages
from core.jobs.registry import jobs, queues

logger = logging.getLogger("rostrum.monitoring")

# The longest time of each statement. Prometheus waits for ten seconds.
STATEMENT_LIMIT_MS = 1500

DUE = "state = 'waiting' AND scheduled_at <= now()"
JOBS = f"""
SELECT queue, count(*) FILTER (WHERE {DUE}), count(*) FILTER (WHERE state = 'waiting' AND scheduled_at > now()),
    count(*) FILTER (WHERE state = 'running'), count(*) FILTER (WHERE state = 'failed'),
    count(*) FILTER (WHERE state = 'waiting' AND error IS NOT NULL),
    coalesce(extract(epoch FROM max(now() - scheduled_at) FILTER (WHERE {DUE})), 0)::float8
FROM core_job GROUP BY queue
"""  # noqa: S608
FOLLOWERS = """
SELECT name, count(*) FILTER (WHERE due_at <= now()), count(*) FILTER (WHERE failures > 0 AND due_at < %s),
    coalesce(extract(epoch FROM max(now() - due_at) FILTER (WHERE due_at <= now())), 0)::float8
FROM core_follower WHERE due_at IS NOT NULL GROUP BY name
"""
UNNUMBERED = "SELECT coalesce(extract(epoch FROM now() - min(at)), 0)::float8 FROM core_change WHERE number IS NULL"
PERIODIC = "SELECT name, extract(epoch FROM at)::float8 FROM core_periodictime"
CONNECTIONS = """
SELECT coalesce(state, 'unknown'), count(*) FROM pg_stat_activity WHERE datname = current_database() GROUP BY 1
"""
MAX_CONNECTIONS = "SELECT current_setting('max_connections')::int"


def rows_of(sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())


def gauge(name: str, text: str, rows: Sequence[Sequence[Any]], *labels: str) -> Metric:
    """Return a metric. A row has the values of the labels, and then the number."""
    family = GaugeMetricFamily(name, text, labels=labels)
    for row in rows:
        family.add_metric([str(value) for value in row[:-1]], row[-1])
    return family


class DatabaseCollector:
    """The metrics of the database, which are read for each scrape."""

    def collect(self) -> Iterator[Metric]:
        set_client_timeout(STATEMENT_LIMIT_MS / 1000 + 1)
        try:
            with time_limit(STATEMENT_LIMIT_MS):
                families = [*job_families(), *feed_families(), *connection_families()]
        except (DatabaseError, InterfaceError, TooSlow) as error:
            logger.warning("no metrics of the database: %s", type(error).__name__)
            families = []
        finally:
            # Each scrape has a thread of its own.
            if not connection.in_atomic_block:
                connection.close()
        yield gauge(
            "rostrum_database_up", "Whether the database answered this scrape in time.", [[int(bool(families))]]
        )
        yield from families


def job_families() -> Iterator[Metric]:
    counts = dict.fromkeys(queues, (0,) * 6) | {name: tuple(numbers) for name, *numbers in rows_of(JOBS)}
    states = ("due", "scheduled", "running", "failed")
    yield gauge(
        "rostrum_jobs",
        "Jobs by queue and state.",
        [(queue, state, number) for queue, numbers in counts.items() for state, number in zip(states, numbers)],  # noqa: B905
        "queue",
        "state",
    )
    retried = [(queue, numbers[4]) for queue, numbers in counts.items()]
    yield gauge("rostrum_jobs_retried", "Waiting jobs that have failed at least once, by queue.", retried, "queue")
    waits = [(queue, numbers[5]) for queue, numbers in counts.items()]
    yield gauge("rostrum_jobs_oldest_due_seconds", "How long the oldest due job has waited, by queue.", waits, "queue")
    periodic = [row for row in rows_of(PERIODIC) if row[0] in jobs]
    text = "The last time of its schedule at which a periodic job was queued, by name."
    yield gauge("rostrum_periodic_job_queued_timestamp_seconds", text, periodic, "name")
    yield gauge(
        "rostrum_job_workers", "Workers of jobs with a heartbeat in the last minute.", [[len(heartbeat_ages())]]
    )


def feed_families() -> Iterator[Metric]:
    counts = dict.fromkeys(change_followers, (0, 0, 0.0))
    counts |= {name: tuple(numbers) for name, *numbers in rows_of(FOLLOWERS, PAUSED_UNTIL)}
    for index, (name, text) in enumerate(
        (
            ("due", "Followers of the change feed that wait for a worker, by name; `webhook` for webhooks."),
            ("failing", "Followers whose last attempt failed, by name."),
            ("oldest_due_seconds", "How long the oldest due follower has waited, by name."),
        )
    ):
        rows = [(follower, numbers[index]) for follower, numbers in counts.items()]
        yield gauge(f"rostrum_followers_{name}", text, rows, "follower")
    text = "The age of the oldest change that no worker has numbered."
    yield gauge("rostrum_changes_oldest_unnumbered_seconds", text, rows_of(UNNUMBERED))


def connection_families() -> Iterator[Metric]:
    yield gauge("rostrum_database_connections", "Connections to the database by state.", rows_of(CONNECTIONS), "state")
    yield gauge("rostrum_database_connections_max", "The limit of connections.", rows_of(MAX_CONNECTIONS))
