"""PgBouncer between the service and PostgreSQL (DATABASE_POOLER=on). Set PGBOUNCER to use another program."""

import os
import pwd
import re
import shutil
import subprocess
import tempfile
import time
from io import StringIO
from pathlib import Path

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.db.utils import load_backend

from core.db import checks as database_checks
from core.db.prepared import fetch
from tests.support import database
from tests.support.factories import make_token
from tests.support.fill import fill_both
from tests.support.fixtures import empty_caches, make_cast, make_other
from tests.support.routes import TABLE, caller, send
from tests.support.service import free_port

PROGRAM = os.environ.get("PGBOUNCER") or shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
pytestmark = [
    pytest.mark.machinery,
    pytest.mark.skipif(not PROGRAM, reason="needs PgBouncer, which is not installed"),
]

CONFIGURATION = """
[databases]
* = host={HOST} port={PORT} {password}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {users}
stats_users = {stats_users}
pool_mode = {pool_mode}
default_pool_size = 1
{other_settings}
"""


def version() -> tuple[int, ...]:
    output = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.search(r"(\d+)\.(\d+)", output).groups()))


@pytest.fixture
def pgbouncer(transactional_db):
    """Return a function that starts PgBouncer in a pool mode and connects the service through it."""
    direct = connections["default"]
    started = []

    def start(pool_mode, *, options=None, stats_users=None):
        folder = Path(tempfile.mkdtemp(prefix="rostrum-pgbouncer-"))
        started.append(folder)
        server_settings, port = direct.settings_dict, free_port()
        users, configuration = folder / "users.txt", folder / "pgbouncer.ini"
        users.write_text(f'"{server_settings["USER"]}" ""\n')
        other_settings = ["max_prepared_statements = 200"] if version() >= (1, 21) else []
        if os.getuid() == 0:
            # PgBouncer refuses to run as root, so its files must be readable by another user.
            other_settings.append("user = nobody")
            for path in (folder, users):
                os.chown(path, pwd.getpwnam("nobody").pw_uid, -1)
        server_settings |= {"PORT": server_settings["PORT"] or 5432}
        values = {
            "stats_users": server_settings["USER"] if stats_users is None else stats_users,
            "other_settings": "\n".join(other_settings),
        }
        values["password"] = f"password='{server_settings['PASSWORD']}'" if server_settings["PASSWORD"] else ""
        configuration.write_text(
            CONFIGURATION.format(port=port, users=users, pool_mode=pool_mode, **values, **server_settings)
        )
        process = subprocess.Popen([PROGRAM, configuration], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        started.append(process)
        connection_options = server_settings["OPTIONS"] | {"options": options}
        pooled_settings = server_settings | {"HOST": "127.0.0.1", "PORT": port, "OPTIONS": connection_options}
        connections["default"] = load_backend("config.database").DatabaseWrapper(pooled_settings)
        deadline = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(host="127.0.0.1", port=port, user="nobody", dbname="pgbouncer", connect_timeout=5)
            except psycopg.OperationalError as error:
                # PgBouncer responds, even if only that it does not know this user.
                if "refused" not in str(error):
                    break
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.02)

    yield start
    if connections["default"] is not direct:
        connections["default"].close()
        connections["default"] = direct
    for item in started:
        if isinstance(item, Path):
            shutil.rmtree(item)
        else:
            item.kill()
            item.wait()


@pytest.fixture
def role_settings(transactional_db, settings):
    """Give the role the settings of docs/operating.md in the test database."""
    settings.DATABASE_POOLER = True
    database = connection.ops.quote_name(connection.settings_dict["NAME"])
    direct = connections["default"]
    with direct.cursor() as cursor:
        cursor.execute("SELECT show_limit()")
        for name, value in settings.DATABASE_SESSION.items():
            cursor.execute(f"ALTER ROLE CURRENT_USER IN DATABASE {database} SET {name} = '{value}'")
    yield
    with direct.cursor() as cursor:
        cursor.execute(f"ALTER ROLE CURRENT_USER IN DATABASE {database} RESET ALL")


def check_messages() -> list[tuple[str, str]]:
    return [(each.id, each.msg) for each in database_checks.database(None, databases=["default"])]


def show(name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"SHOW {name}")
        return cursor.fetchone()[0]


@pytest.mark.parametrize("pool_mode", ["session", "transaction"])
def test_it_works(role_settings, pgbouncer, monkeypatch, pool_mode):
    monkeypatch.setattr(database_checks, "POOLER_VERSION", (1, 0))
    pgbouncer(pool_mode)
    assert check_messages() == []
    assert show("statement_timeout") == "1min"
    with transaction.atomic():
        assert fetch("SELECT 1", []) == [(1,)]


def test_pgbouncer_rejects_startup_parameters(role_settings, pgbouncer):
    """PgBouncer rejects startup parameters, which the service sends unless DATABASE_POOLER is on."""
    pgbouncer("session", options="-c jit=off")
    with pytest.raises(Exception, match="unsupported startup parameter"):
        show("jit")


KEEPS_STATEMENTS = bool(PROGRAM) and version() >= (1, 22)
keeps_statements = pytest.mark.skipif(not KEEPS_STATEMENTS, reason="this PgBouncer keeps no prepared statements")


def statuses() -> dict[tuple[str, str], int]:
    """Send the requests of the route table, each with another connection than the request before, and return their statuses."""
    database.empty()
    empty_caches()
    world = fill_both(make_cast(), make_other())
    world.acme.alice.token = make_token(world.acme.alice)
    first, second = connections["default"], load_backend("config.database").DatabaseWrapper(connection.settings_dict)
    found = {}
    # The rows that the other requests need are deleted last.
    for row in sorted(TABLE, key=lambda row: row.method == "DELETE"):
        connections["default"] = second if connections["default"] is first else first
        client = caller(row, world.acme.host, world.acme.alice)
        found[row[:2]] = send(row, client, world.acme_ids, world.acme_ids).status_code
    connections["default"] = first
    second.close()
    return found


@keeps_statements
def test_every_request_works_as_without_pgbouncer(role_settings, pgbouncer):
    """Two connections share the only server connection."""
    direct = statuses()
    pgbouncer("transaction")
    pooled = statuses()
    assert pooled == direct
    # Some are a conflict with a request before.
    assert sum(status < 400 for status in pooled.values()) > 150


@keeps_statements
def test_prepared_statements_work_on_any_connection(role_settings, pgbouncer):
    """Several client connections share the only server connection."""
    pgbouncer("transaction")
    others = [load_backend("config.database").DatabaseWrapper(connection.settings_dict) for _ in range(2)]
    first = connections["default"]
    try:
        for wrapper in (first, *others, first, *others):
            connections["default"] = wrapper
            wrapper.inc_thread_sharing()
            for number in range(3):
                assert fetch(f"SELECT {number} + %s::int", [1]) == [(number + 1,)]
    finally:
        connections["default"] = first
        for wrapper in others:
            wrapper.close()


def test_it_rejects_a_role_without_a_required_setting(role_settings, pgbouncer, monkeypatch):
    monkeypatch.setattr(database_checks, "POOLER_VERSION", (1, 0))
    names = {"statement_timeout", "idle_in_transaction_session_timeout", "jit", "random_page_cost"}
    database = connection.ops.quote_name(connection.settings_dict["NAME"])
    with connection.cursor() as cursor:
        for name in names:
            cursor.execute(f"ALTER ROLE CURRENT_USER IN DATABASE {database} RESET {name}")
    pgbouncer("session")
    errors = database_checks.database(None, databases=["default"])
    sentences = {error.msg.partition(" of the database is ")[0] for error in errors if error.id == "rostrum.E010"}
    assert sentences == {f"The setting {name}" for name in names}
    assert len(errors) == len(names)
    # The statements in the hints fix the errors for new server connections.
    with connection.cursor() as cursor:
        for error in errors:
            cursor.execute(error.hint.removeprefix("Run ").partition(", and ")[0])
    connection.close()
    pgbouncer("session")
    assert check_messages() == []


def test_it_rejects_an_old_version(role_settings, pgbouncer, monkeypatch):
    monkeypatch.setattr(database_checks, "POOLER_VERSION", (99, 0))
    pgbouncer("session")
    [(id, message)] = check_messages()
    assert id == "rostrum.E011"
    assert message.startswith("PgBouncer is version {}.{}: ".format(*version()))


def test_it_warns_if_the_version_is_unknown(role_settings, pgbouncer):
    pgbouncer("session", stats_users="somebody")
    assert check_messages() == [("rostrum.W010", "PgBouncer does not tell its version and its settings.")]


def test_it_rejects_statement_pooling(role_settings, pgbouncer, monkeypatch):
    monkeypatch.setattr(database_checks, "POOLER_VERSION", (1, 0))
    pgbouncer("statement")
    assert [id for id, _ in check_messages()] == ["rostrum.E012"]


def test_migrations_leave_no_session_settings(role_settings, pgbouncer):
    pgbouncer("transaction")
    stderr = StringIO()
    call_command("migrate", stdout=StringIO(), stderr=stderr)
    assert "DATABASE_POOLER is on" in stderr.getvalue()
    assert show("statement_timeout") == "1min"


def test_each_migration_lifts_the_limit_for_its_transaction(role_settings, pgbouncer):
    pgbouncer("transaction")
    with connection.schema_editor() as editor:
        assert show("statement_timeout") == "0"
        editor.execute("SELECT 1")
    assert show("statement_timeout") == "1min"
