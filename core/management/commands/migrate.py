from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandParser
from django.core.management.commands import migrate
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from core.db.time_limit import without_statement_timeout
from core.management.autodetector import Autodetector

# What all migrations create, as pg_dump of PostgreSQL 18 writes it. A test compares the two.
SCHEMA = Path(settings.BASE_DIR) / "docs" / "schema.sql"
POOLER_WARNING = (
    "DATABASE_POOLER is on: the statement_timeout of the role applies to migrations outside of a transaction, such as those that"
    " build indexes. If one is cancelled, run migrate with the DATABASE_URL of PostgreSQL itself and DATABASE_POOLER=off."
)


class Command(migrate.Command):
    """Django's `migrate` without a statement timeout, because building an index on a large table may take long."""

    autodetector = Autodetector

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--from-schema",
            action="store_true",
            help="Create an empty database from docs/schema.sql, which is faster than all migrations, if PostgreSQL is of version 18.",
        )

    def handle(self, *args: object, **options: object) -> None:
        if settings.DATABASE_POOLER and options["verbosity"]:
            self.stderr.write(POOLER_WARNING)
        with without_statement_timeout():
            if (
                options["from_schema"]
                and connection.pg_version >= 180_000  # type: ignore[attr-defined]  # of the PostgreSQL backend
                and not connection.introspection.table_names()
            ):
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
