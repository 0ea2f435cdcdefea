"""Things that happen at the same time, each on a thread and a connection of its own."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.db import connections


def at_once(*acts: Callable[[], object]) -> list:
    """Do all of these at the same time; their results, in the order given."""
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
