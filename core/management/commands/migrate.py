from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.commands import migrate
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

# What all migrations create, as pg_dump of PostgreSQL 18 writes it. A test compares the two.
SCHEMA = Path(settings.BASE_DIR) / "docs" / "schema.sql"
POOLER_WARNING = (
    "DATABASE_POOLER is on: the statement_timeout of the role applies to migrations outside of a transaction, such as those that"
    " build indexes. If one is cancelled, run migrate with the DATABASE_URL of PostgreSQL itself and DATABASE_POOLER=off."
)


class Command(migrate.Command):
    """Django's `migrate` without a statement timeout, because building an index on a large table may take long."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--from-schema",
            action="store_true",
            help="Create an empty database from docs/schema.sql, which is faster than all migrations, if PostgreSQL is of version 18.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.DATABASE_POOLER and options["verbosity"]:
            self.stderr.write(POOLER_WARNING)
        # A method of the backend `config.database`.
        with connection.without_statement_timeout():  # type: ignore[attr-defined]
            if options["from_schema"] and connection.pg_version >= 180_000 and not connection.introspection.table_names():
                create_from_schema()
            else:
                super().handle(*args, **options)


@transaction.atomic
def create_from_schema() -> None:
    """Create all tables, functions and indexes, and record all migrations as applied."""
    with connection.cursor() as cursor:
        # The file defines functions before the tables that they use.
        cursor.execute("SET LOCAL check_function_bodies = false")
        cursor.execute(SCHEMA.read_text())
    recorder = MigrationRecorder(connection)
    for app, name in sorted(MigrationLoader(None).disk_migrations):
        recorder.record_applied(app, name)
