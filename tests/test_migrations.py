"""The migrations are complete, run on an empty database, and can be reversed."""

import io
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from django.core.management import call_command

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent

# All objects that migrations create: columns, constraints, indexes, triggers, functions.
SCHEMA = """
SELECT 'column', table_schema || '.' || table_name || '.' || column_name,
  concat_ws(' ', data_type, character_maximum_length, is_nullable, is_identity, is_generated, generation_expression)
FROM information_schema.columns WHERE table_schema IN ('public', 'account_ids')
UNION ALL
SELECT 'constraint', conrelid::regclass || '.' || conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE connamespace = 'public'::regnamespace
UNION ALL
SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION ALL
SELECT 'trigger', tgrelid::regclass || '.' || tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
UNION ALL
SELECT 'function', pronamespace::regnamespace || '.' || proname, prosrc FROM pg_proc
WHERE pronamespace::regnamespace::text IN ('public', 'account_ids')
"""


@pytest.fixture
def empty_database():
    """Create an empty database on the test server, and return its address."""
    parts = urlsplit(os.environ["DATABASE_URL"])
    name = f"scratch_{os.getpid()}"
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        yield urlunsplit(parts._replace(path=f"/{name}"))
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def migrate(url: str, *arguments: str) -> str:
    completed = subprocess.run(
        [sys.executable, "manage.py", "migrate", *arguments],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def schema(url: str) -> set[tuple]:
    with psycopg.connect(url) as connection:
        rows = connection.execute(SCHEMA).fetchall()
    return {row for row in rows if "django_migrations" not in row[1]}


def test_it_works(empty_database):
    """Migrate an empty database, reverse all migrations, and migrate again. A second run has nothing to do."""
    migrate(empty_database)
    first = schema(empty_database)
    assert {kind for kind, _, _ in first} == {"column", "constraint", "index", "trigger", "function"}
    # The migrations of the other apps depend on these.
    migrate(empty_database, "accounts", "zero")
    # The migrations of procrastinate cannot be reversed, and no other app is needed for them.
    assert {row for row in schema(empty_database) if "procrastinate" not in f"{row[1]} {row[2]}"} == set()
    migrate(empty_database)
    assert schema(empty_database) == first
    assert "No migrations to apply" in migrate(empty_database)


def test_every_change_of_a_model_has_a_migration(db):
    missing = io.StringIO()
    try:
        call_command("makemigrations", check=True, dry_run=True, stdout=missing)
    except SystemExit:
        pytest.fail(f"run `manage.py makemigrations`, which creates:\n{missing.getvalue()}")
