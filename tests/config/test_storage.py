"""The storage parameters of tables."""

from django.db import connection

from config.storage import STORAGE_PARAMETERS

# The migrations of `core` set those of its queue.
OTHER_TABLES = {"core_job"}


def test_the_database_has_the_declared_parameters(db):
    """A change of the declaration needs a migration with ALTER TABLE."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT oid::regclass::text, reloptions FROM pg_class WHERE relkind = 'r' AND reloptions IS NOT NULL"
        )
        found = {table: dict(option.split("=") for option in options) for table, options in cursor.fetchall()}
    declared = {
        table: {name: str(value) for name, value in parameters.items()}
        for table, parameters in STORAGE_PARAMETERS.items()
    }
    assert {table: options for table, options in found.items() if table not in OTHER_TABLES} == declared
