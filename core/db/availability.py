"""The availability of the database.

A process waits for it at its start. A standby answers reads while no server accepts writes.
"""

import threading
import time
from collections.abc import Callable

from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor


def wait_for_database(seconds: int, report: Callable[[str], object], stop: threading.Event | None = None) -> str:
    """Wait until the database answers and has every migration, or until `stop` is set.

    Report a new problem at once, and the same problem every five seconds. Return an empty string, or the problem after `seconds`.
    """
    stop = stop or threading.Event()
    started_at = time.monotonic()
    reported, reported_at = "", 0.0
    while not stop.is_set() and (problem := find_problem()):
        waited = time.monotonic() - started_at
        if waited >= seconds:
            return f"Gave up after {seconds} s. {problem}"
        if problem != reported or waited - reported_at >= 5:
            reported, reported_at = problem, waited
            report(f"Waiting, {waited:.0f} of {seconds} s. {problem}")
        stop.wait(0.5)
    connection.close()
    return ""


def find_problem() -> str:
    """Return a sentence on why the process cannot start yet, or an empty string."""
    try:
        executor = MigrationExecutor(connection)
    except OperationalError as error:
        connection.close()
        # With several hosts, return the reason of the last one. libpq adds indented hints after each reason.
        *_, reason = [line for line in str(error).splitlines() if line.strip() and not line.startswith("\t")] or [
            type(error).__name__
        ]
        return f"The database does not answer: {reason.removeprefix('- ')}"
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if not plan:
        return ""
    missing = "1 migration is missing" if len(plan) == 1 else f"{len(plan)} migrations are missing"
    return f"{missing} (the first is {plan[0][0]}): run python manage.py migrate"


def allow_standby(is_allowed: bool) -> None:
    """Set whether the backend `config.database` may connect this thread to a standby. Django's own has no such choice."""
    connection.may_use_standby = is_allowed  # type: ignore[attr-defined]


def is_read_only() -> bool:
    """Return whether the server of the open connection is a standby, or accepts no writes for another reason."""
    if connection.connection is None:
        return False
    status = connection.connection.info.parameter_status
    return "on" in (status("in_hot_standby"), status("default_transaction_read_only"))
