"""Run functions at the same time, each on its own thread and connection."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.db import connection, connections, transaction
from django.db.models import Model


def at_once(*acts: Callable[[], object]) -> list:
    """Call all of these at the same time. Return their results in the given order."""
    barrier = threading.Barrier(len(acts), timeout=60)

    def run(act):
        try:
            connections["default"].ensure_connection()
            barrier.wait()
            return act()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(acts)) as pool:
        return [future.result() for future in [pool.submit(run, act) for act in acts]]


def while_held(row: Model, change: Callable[[Model], object], act: Callable[[], object]):
    """Call `act` while `change` holds the row's lock, and commit once `act` waits for it. Return the result of `act`."""
    held = threading.Event()

    def first():
        with transaction.atomic(), connection.cursor() as cursor:
            change(type(row).objects.select_for_update().get(pk=row.pk))
            held.set()
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                cursor.execute("SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))")
                if cursor.rowcount:
                    return
                time.sleep(0.01)
        raise AssertionError("nothing waits for the row")

    def second():
        assert held.wait(60)
        return act()

    return at_once(first, second)[1]
