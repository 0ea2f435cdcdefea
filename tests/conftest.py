"""Start one PostgreSQL server for the whole run. The controller process starts it. Workers connect to its DATABASE_URL."""

import contextlib
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import django
import psycopg
import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from config.local.postgres import Cluster
from tests.support.plain import PLAIN, select
from tests.support.template import copy_migrated_data

# Container images often disable bytecode files. Without them, each worker rewrites the assertions of all tests, and each process that a
# test starts compiles all code.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

os.environ |= {
    "DJANGO_SETTINGS_MODULE": "tests.support.plain_settings" if PLAIN else "config.settings",
    "SECRET_KEY": "tests-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "BASE_DOMAIN": "example.test",
    "OPERATOR_ACCOUNT": "acme",
    # Most tests create domains of forums without a proof. `tests/accounts/hosts/test_domains.py` tests the default.
    "FORUM_DOMAINS": "trusted",
    "HTTPS": "off",
    # The default timeout would cancel statements on a busy machine.
    "STATEMENT_TIMEOUT": "60",
    # No rate limits, except where a test sets one.
    "RATE_LIMIT": "0",
    "FAILED_LOGIN_LIMIT": "0",
    "SIGN_UP": "open",
    "ACCOUNT_LIMIT": "0",
    "FILES_DIR": tempfile.mkdtemp(prefix="rostrum-tests-files-"),
}


@contextlib.contextmanager
def _database() -> Iterator[None]:
    if os.environ.get("DATABASE_URL"):
        yield
        return
    directory = tempfile.mkdtemp(prefix="rostrum-tests-")
    try:
        copy_migrated_data(Path(directory))
        with Cluster(directory, durable=False) as cluster:
            os.environ |= {"DATABASE_URL": cluster.url, "TESTS_OWN_SERVER": "1"}
            with psycopg.connect(cluster.url, user="postgres", dbname="postgres") as connection:
                # `tests.support.database` needs this privilege.
                connection.execute("GRANT SET ON PARAMETER session_replication_role TO rostrum")
            yield
    finally:
        shutil.rmtree(directory)


# Set before any fixture or test is imported: the settings read the environment once, at import.
_exit_stack = contextlib.ExitStack()
_exit_stack.enter_context(_database())
django.setup()
if PLAIN:
    # The application would close the connection of a test, whose transaction is open, at the end of each request. `config.database`
    # keeps such a connection. Django's test client does the same.
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)


def pytest_unconfigure() -> None:
    _exit_stack.close()
    shutil.rmtree(os.environ["FILES_DIR"], ignore_errors=True)


pytest_plugins = [
    "tests.support.calls",
    "tests.support.fixtures",
    "tests.support.service",
    "tests.support.mail_server",
    "tests.support.limits",
]

# Fixtures that start whole services. Tests that use them belong to `make soak`.
SERVICES = {"data_directory", "start_new_service"}
# Fixtures that take seconds, once for each worker and file.
LONG = {"chromium", "pgbouncer", "long_lists", "filled_forum", "large"}


def uses(item: pytest.Item, fixtures: set[str]) -> bool:
    return not fixtures.isdisjoint(getattr(item, "fixturenames", ()))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--sample", type=int, help="run only this number of tests, always the same ones")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Mark the tests that start services, select those that run, and order the tests so that each worker begins with a share of the long files.

    pytest-xdist gives each worker an equal part of the list at first; idle workers then take tests from the ends of other
    parts. A long test at the end of the run would keep one worker busy while the others have nothing to do.
    """
    for item in items:
        if uses(item, SERVICES):
            item.add_marker("soak")
    # `-m` and `-k` remove items.
    yield
    select(items, config)
    long = [item for item in items if uses(item, LONG)]
    others = [item for item in items if not uses(item, LONG)]
    files = list(dict.fromkeys(item.path for item in long))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    share = -(-len(items) // workers)
    items.clear()
    for worker in range(workers):
        worker_files = set(files[worker::workers])
        items += (worker_tests := [item for item in long if item.path in worker_files])
        rest = max(0, share - len(worker_tests))
        items += others[:rest]
        del others[:rest]
    items += others


def pytest_collection_finish() -> None:
    """Let the garbage collector leave out what exists now, and run less often. It would take a seventh of the time of the tests."""
    gc.freeze()
    gc.set_threshold(20_000, 50)
