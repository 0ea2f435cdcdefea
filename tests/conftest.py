"""Start one PostgreSQL server for the whole run. The controller process starts it; workers connect by DATABASE_URL."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator

import django
import psycopg
import pytest

from config.local.postgres import Cluster

os.environ |= {
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "SECRET_KEY": "tests-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "BASE_DOMAIN": "example.test",
    "HTTPS": "off",
    # Statements are slow on a busy machine.
    "STATEMENT_TIMEOUT": "60",
    # No rate limits, except where a test sets one.
    "RATE_LIMIT": "0",
    "FAILED_LOGIN_LIMIT": "0",
    "ACCOUNT_LIMIT": "0",
}


@contextlib.contextmanager
def _database() -> Iterator[None]:
    if os.environ.get("DATABASE_URL"):
        yield
        return
    directory = tempfile.mkdtemp(prefix="rostrum-tests-")
    try:
        with Cluster(directory, durable=False) as cluster:
            os.environ["DATABASE_URL"] = cluster.url
            with psycopg.connect(cluster.url, user="postgres", dbname="postgres") as connection:
                # `tests.support.database` needs this privilege.
                connection.execute("GRANT SET ON PARAMETER session_replication_role TO rostrum")
            yield
    finally:
        shutil.rmtree(directory)


# Set before any fixture or test is imported: the settings read the environment once, at import.
_running = contextlib.ExitStack()
_running.enter_context(_database())
django.setup()


def pytest_unconfigure() -> None:
    _running.close()


pytest_plugins = ["tests.support.calls", "tests.support.fixtures", "tests.support.service"]

# Fixtures that start services or a browser, or create many rows.
SLOW = {"start_service", "start_new_service", "chromium", "pgbouncer", "long_lists"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use slow fixtures, and run the slow tests of each half first.

    Each of two workers begins with one half and then takes tests from the other. No long test is left for the end.
    """
    for item in items:
        if not SLOW.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker("slow")
    slow = [item for item in items if item.get_closest_marker("slow")]
    fast = [item for item in items if not item.get_closest_marker("slow")]
    items[:] = [*slow[: len(slow) // 2], *fast[: len(fast) // 2], *slow[len(slow) // 2 :], *fast[len(fast) // 2 :]]
