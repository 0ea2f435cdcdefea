"""Upgrades while the version before serves: its code works on the new schema, and no migration blocks its statements for long."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor

from tests.support.examples import ROOT
from tests.support.template import cache_key, copy_migrated_data

pytestmark = [pytest.mark.soak, pytest.mark.machinery]

# RELEASE=… names another version (a commit) than the last tag.
RELEASE = os.environ.get("RELEASE", "")
# ROWS=10000 is for a short trial.
ROWS = int(os.environ.get("ROWS") or 1_000_000)
# The longest time that a migration may block a statement of the version before, in seconds.
MAX_WAIT = 2
LARGE_TABLES = ("crm_client", "forum_post", "accounts_user", "accounts_session")
# Tests of the last release that send every request of both APIs.
SMOKE_TESTS = ("tests/test_route_contracts.py", "tests/test_existing_clients.py")

# Variables of this run that the run of the last release must not inherit: it starts a server of its own, and reads the settings after that.
OF_THIS_RUN = ("DATABASE_URL", "DJANGO_SETTINGS_MODULE", "TESTS_OWN_SERVER", "PYTEST_ADDOPTS")

# A value of each type for a column that needs one, for row `n`.
VALUES = {
    "bigint": "n",
    "integer": "n",
    "smallint": "1",
    "boolean": "false",
    "text": "'t' || n",
    "character varying": "'t' || n",
    "jsonb": "'{}'",
    "uuid": "gen_random_uuid()",
    "bytea": "decode(md5(n::text), 'hex')",
    "timestamp with time zone": "now()",
    "date": "now()",
    "numeric": "1",
    "double precision": "1",
    "ARRAY": "'{}'",
}
COLUMNS = """
    SELECT column_name, data_type FROM information_schema.columns
    WHERE table_name = %s AND is_nullable = 'NO' AND column_default IS NULL AND is_generated = 'NEVER' AND is_identity = 'NO'
"""


def last_release() -> str:
    command = ["git", "describe", "--tags", "--abbrev=0", "--match", "v*"]
    return RELEASE or subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def test_the_last_release_works_on_the_new_schema(tmp_path):
    release = last_release()
    if not release:
        pytest.skip("nothing is released yet: name a commit, such as RELEASE=HEAD~10")
    archive = subprocess.run(["git", "archive", release], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", tmp_path], input=archive, check=True)
    key = [sys.executable, "-c", "from tests.support.template import cache_key; print(cache_key())"]
    release_key = subprocess.run(key, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()
    assert release_key != cache_key(), f"{release} has the same migrations"
    # The tests of the release take these data for those of their own migrations.
    copy_migrated_data(tmp_path / "new")
    (tmp_path / ".cache" / "postgres").mkdir(parents=True)
    (tmp_path / "new" / "data").rename(tmp_path / ".cache" / "postgres" / release_key)
    command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", "-m", "not soak", *SMOKE_TESTS]
    environment = {name: value for name, value in os.environ.items() if name not in OF_THIS_RUN}
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-10_000:]
    assert "passed" in result.stdout


class LockWatcher:
    """A thread that takes the lock of a write on each table, over and over, and keeps the longest time that each took."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.waits: dict[str, float] = {}
        self.rounds = 0
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def __enter__(self) -> "LockWatcher":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self.thread.join()

    def watch(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as own:
            while not self.stopped.wait(0.01):
                self.rounds += 1
                for (table,) in own.execute("SELECT relid::regclass::text FROM pg_stat_user_tables").fetchall():
                    start = time.monotonic()
                    try:
                        with own.transaction():
                            own.execute(f"LOCK TABLE {table} IN ROW EXCLUSIVE MODE")
                    except psycopg.errors.UndefinedTable:
                        continue  # the migration has dropped it
                    self.waits[table] = max(self.waits.get(table, 0), time.monotonic() - start)


@pytest.fixture
def large_database(transactional_db) -> Iterator[str]:
    """Create a database with the initial migrations and large tables, and connect the service to it."""
    previous = connection.settings_dict["NAME"]
    server = os.environ["DATABASE_URL"].rpartition("/")[0]
    name = f"{previous}_large"
    with psycopg.connect(f"{server}/{previous}", autocommit=True) as own:
        own.execute(f"CREATE DATABASE {name}")
        connection.close()
        connection.settings_dict["NAME"] = name
        try:
            executor = MigrationExecutor(connection)
            # The last one of each app: an earlier target would undo it.
            initial = dict(sorted(key for key, each in executor.loader.disk_migrations.items() if each.initial))
            executor.migrate(list(initial.items()))
            for table in LARGE_TABLES:
                fill(table)
            yield f"{server}/{name}"
        finally:
            connection.close()
            connection.settings_dict["NAME"] = previous
            own.execute(f"DROP DATABASE {name} WITH (FORCE)")


def fill(table: str) -> None:
    """Insert rows that satisfy the types of the columns. References and triggers are ignored."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica; SET statement_timeout = 0")
        cursor.execute(COLUMNS, [table])
        columns = {name: VALUES[kind] for name, kind in cursor.fetchall()}
        columns["account_id"] = "1"
        names, values = ", ".join(columns), ", ".join(columns.values())
        cursor.execute(f"INSERT INTO {table} ({names}) SELECT {values} FROM generate_series(1, {ROWS}) AS n")  # noqa: S608
        cursor.execute(f"ANALYZE {table}; RESET session_replication_role")


def longest_waits(url: str) -> dict[str, tuple[str, float]]:
    """Apply the other migrations one by one, and return the table of each that waited longest, and its seconds."""
    found = {}
    executor = MigrationExecutor(connection)
    for migration, _ in executor.migration_plan(executor.loader.graph.leaf_nodes()):
        with LockWatcher(url) as watcher:
            MigrationExecutor(connection).migrate([(migration.app_label, migration.name)])
        assert watcher.rounds > 0
        found[str(migration)] = max(watcher.waits.items(), key=lambda item: item[1])
    return found


def test_no_migration_blocks_for_long(large_database):
    waits = longest_waits(large_database)
    assert waits
    assert {migration: wait for migration, wait in waits.items() if wait[1] > MAX_WAIT} == {}


def test_a_blocked_statement_is_found(transactional_db):
    url = f"{os.environ['DATABASE_URL'].rpartition('/')[0]}/{connection.settings_dict['NAME']}"
    with LockWatcher(url) as watcher:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE crm_client IN SHARE MODE")
            cursor.execute("SELECT pg_sleep(0.5)")
        while "crm_client" not in watcher.waits:
            time.sleep(0.01)
    assert watcher.waits["crm_client"] > 0.3
    assert watcher.waits["forum_post"] < 0.3
