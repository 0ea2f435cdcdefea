"""The migrations are complete, stand alone, and create the schema in `docs/schema.sql`."""

import ast
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.contrib.postgres.functions import RandomUUID
from django.contrib.postgres.operations import (
    AddConstraintNotValid,
    AddIndexConcurrently,
    RemoveIndexConcurrently,
    ValidateConstraint,
)
from django.core.management import call_command
from django.db import connection
from django.db.migrations import Migration, operations
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState
from django.db.models import CharField, CheckConstraint, Index, Q, TextField, UUIDField

from tests.support.schema import PATH, dump_schema
from tests.support.squawk import find_long_locks

ROOT = Path(settings.BASE_DIR)
ROOMS = {path.parent.name for path in ROOT.glob("*/__init__.py")}


def test_it_works(db):
    """A function or trigger that is changed without a migration, or by a migration without its schema, is a difference."""
    assert connection.pg_version >= 180_000, "docs/schema.sql is written by pg_dump of PostgreSQL 18"
    schema = dump_schema(connection.settings_dict)
    if os.environ.get("UPDATE_DOCS"):
        PATH.write_text(schema)
    assert schema == PATH.read_text(), "run `make docs`, and read the difference of docs/schema.sql"


def test_the_schema_file_creates_the_same_database(db):
    """`make run` creates its database from the file, with the migrations recorded as applied."""
    settings_dict = connection.settings_dict
    name = f"{settings_dict['NAME']}_from_schema"
    server = os.environ["DATABASE_URL"].rpartition("/")[0]
    applied = "SELECT app, name FROM django_migrations ORDER BY app, name"
    command = [sys.executable, "manage.py", "migrate", "--from-schema", "--verbosity=0"]
    with psycopg.connect(f"{server}/{settings_dict['NAME']}", autocommit=True) as own:
        own.execute(f"CREATE DATABASE {name}")
        try:
            # The second time, there is nothing to do.
            for _ in range(2):
                environment = os.environ | {"DATABASE_URL": f"{server}/{name}"}
                subprocess.run(command, cwd=ROOT, env=environment, check=True)
            with psycopg.connect(f"{server}/{name}") as created:
                assert created.execute(applied).fetchall() == own.execute(applied).fetchall()
            # A restored database has the same casts in another place.
            assert without_casts(dump_schema(settings_dict | {"NAME": name})) == without_casts(PATH.read_text())
        finally:
            own.execute(f"DROP DATABASE {name}")


def without_casts(schema: str) -> str:
    return re.sub(r"::(character varying|text)(\[\])?|[()]", "", schema)


def test_a_dump_can_be_restored(db):
    """pg_dump writes an unnamed parameter beside named ones as "", in the body of a function in SQL. No restore can read that."""
    mixed = """
        SELECT oid::regprocedure::text FROM pg_proc
        WHERE pronamespace::regnamespace::text IN ('public', 'search', 'account_ids') AND '' = ANY (proargnames) AND prosqlbody IS NOT NULL
    """
    with connection.cursor() as cursor:
        cursor.execute(mixed)
        assert cursor.fetchall() == []
        cursor.execute(
            "CREATE FUNCTION search.mixed(text, length integer) RETURNS text LANGUAGE sql RETURN left($1, $2)"
        )
        cursor.execute(mixed)
        assert cursor.fetchall() == [("search.mixed(text,integer)",)]


def test_every_change_of_a_model_has_a_migration(db):
    missing = io.StringIO()
    try:
        call_command("makemigrations", check=True, dry_run=True, stdout=missing)
    except SystemExit:
        pytest.fail(f"run `manage.py makemigrations`, which creates:\n{missing.getvalue()}")


def test_migrations_import_nothing_of_the_project():
    """A later change of the imported code would change the migration, but not the databases that have it."""
    offenders = []
    for path in sorted(ROOT.glob("*/migrations/*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            offenders += [f"{path.relative_to(ROOT)} imports {name}" for name in names if name.split(".")[0] in ROOMS]
    assert offenders == []
    assert {"accounts", "core", "tests"} <= ROOMS


@pytest.mark.django_db(transaction=True)
def test_migrations_lock_tables_only_briefly():
    """The initial migrations create tables, which have no rows yet."""
    loader = MigrationLoader(connection)
    migrations = [each for each in loader.disk_migrations.values() if each.app_label in ROOMS and not each.initial]
    found = {
        str(each): find_long_locks(sql_of(each, loader.project_state((each.app_label, each.name), at_end=False)))
        for each in migrations
    }
    assert {name: rules for name, rules in found.items() if rules} == {}


@pytest.mark.django_db(transaction=True)
def test_long_locks_are_found():
    """The ways of CONTRIBUTING.md are accepted, and those that `makemigrations` writes for large tables are not."""
    state = MigrationLoader(connection).project_state()
    index, name = Index(fields=["account", "city"], name="client_city"), "client_trash"
    check = CheckConstraint(condition=Q(city__isnull=False), name="client_city_known")
    accepted = {
        "a nullable column": (operations.AddField("client", "nickname", CharField(max_length=255, null=True)), True),
        "a concurrent index": (AddIndexConcurrently("client", index), False),
        "no index": (RemoveIndexConcurrently("client", name), False),
        "a constraint for new rows": (AddConstraintNotValid("client", check), True),
    }
    with_check = state.clone()
    accepted["a constraint for new rows"][0].state_forwards("crm", with_check)
    rejected = {
        "adding-field-with-default": operations.AddField("client", "key", UUIDField(db_default=RandomUUID())),
        "require-concurrent-index-creation": operations.AddIndex("client", index),
        "require-concurrent-index-deletion": operations.RemoveIndex("client", name),
        "constraint-missing-not-valid": operations.AddConstraint("client", check),
        "changing-column-type": operations.AlterField("client", "city", TextField(null=True)),
    }
    for case, (operation, atomic) in accepted.items():
        assert find_long_locks(sql_of(migration_of(operation, atomic=atomic), state)) == [], case
    validation = migration_of(ValidateConstraint("client", check.name))
    assert find_long_locks(sql_of(validation, with_check)) == []
    assert {rule: find_long_locks(sql_of(migration_of(operation), state)) for rule, operation in rejected.items()} == {
        rule: [rule] for rule in rejected
    }


def migration_of(operation: operations.base.Operation, *, atomic: bool = True) -> Migration:
    migration = Migration("made_up", "crm")
    migration.operations, migration.atomic = [operation], atomic
    return migration


def sql_of(migration: Migration, state: ProjectState) -> str:
    """Return the SQL of a migration, as `manage.py sqlmigrate` prints it."""
    with connection.schema_editor(collect_sql=True, atomic=migration.atomic) as editor:
        migration.apply(state.clone(), editor, collect_sql=True)
    statements = ["BEGIN;", *editor.collected_sql, "COMMIT;"] if migration.atomic else editor.collected_sql
    return "\n".join(statements)
