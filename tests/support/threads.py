"""Run functions at the same time, each on its own thread and connection."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.db import connection, connections, transaction
from django.db.models import Model


def at_once(*functions: Callable[[], object]) -> list:
    """Call the functions at the same time, and return their results in the same order."""
    barrier = threading.Barrier(len(functions), timeout=60)

    def run(function):
        try:
            connections["default"].ensure_connection()
            barrier.wait()
            return function()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(functions)) as pool:
        return [future.result() for future in [pool.submit(run, function) for function in functions]]


def while_held(row: Model, change: Callable[[Model], object], function: Callable[[], object]):
    """Call `change` with the locked row and `function` at the same time, and return the result of `function`.

    The transaction of `change` is committed once `function` waits for the lock.
    """
    held = threading.Event()

    def hold_lock():
        with transaction.atomic():
            change(type(row).objects.select_for_update().get(pk=row.pk))
            held.set()
            wait_until_blocking()

    def wait_and_call():
        assert held.wait(60)
        return function()

    return at_once(hold_lock, wait_and_call)[1]


def wait_until_blocking() -> None:
    """Wait until another transaction waits for a lock of this one.

    `pg_locks` shows the current locks. `pg_stat_activity` would be frozen at its first read in the transaction.
    """
    deadline = time.monotonic() + 60
    with connection.cursor() as cursor:
        while time.monotonic() < deadline:
            cursor.execute("SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))")
            if cursor.rowcount:
                return
            time.sleep(0.01)
    raise AssertionError("no transaction waits for a lock")
