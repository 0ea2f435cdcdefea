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
from django.core.management import call_command
from django.db import connection

from tests.support.schema import PATH, dump_schema

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
