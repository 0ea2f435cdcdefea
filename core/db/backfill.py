"""Migration operations that set a new column of existing rows, or fill a new table, while the service is running."""

from collections.abc import Iterator
from typing import Any

from django.db import migrations, transaction

BATCH_SIZE = 5000
# The condition of the rows of a batch. The parameters are the bounds that `batches` yields.
BATCH = "(account_id, id) > (%s, %s) AND (account_id, id) <= (%s, %s)"


def batches(cursor: Any, table: str) -> Iterator[list[int]]:
    """Yield the bounds of each batch of the rows of a tenant table: the account and the id before its first row, and of its last row."""
    last = f"""
        SELECT account_id, id FROM (
            SELECT account_id, id FROM {table} WHERE (account_id, id) > (%s, %s) ORDER BY account_id, id LIMIT {BATCH_SIZE}
        ) AS batch ORDER BY account_id DESC, id DESC LIMIT 1
    """  # noqa: S608
    after = (0, 0)
    while True:
        cursor.execute(last, after)
        key = cursor.fetchone()
        if key is None:
            return
        yield [*after, *key]
        after = key


def fill_column(table: str, column: str, value: str, *, condition: str) -> migrations.RunPython:
    """Return the operation that sets a column of a tenant table, where the condition holds and the value is not null.

    `value` and `condition` are SQL. Each batch is one transaction, so the migration needs `atomic = False`.

    The transaction disables the triggers of the table, because the change feed must not report the rows as changed. This takes a lock
    that blocks other writes to the table, including those of triggers of other tables that update the column. The value may therefore
    depend on rows of these tables.
    """
    update = f"""
        UPDATE {table} SET {column} = new.value FROM (
            SELECT account_id, id, ({value}) AS value FROM {table} WHERE {BATCH} AND {condition}
        ) AS new
        WHERE {table}.account_id = new.account_id AND {table}.id = new.id AND new.value IS NOT NULL
    """  # noqa: S608

    def fill(_apps: Any, schema_editor: Any) -> None:
        with schema_editor.connection.cursor() as cursor:
            for bounds in batches(cursor, table):
                with transaction.atomic():
                    cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
                    cursor.execute(update, bounds)
                    cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")

    return migrations.RunPython(fill, migrations.RunPython.noop)


def insert_in_batches(table: str, statement: str) -> migrations.RunPython:
    """Return the operation that executes a statement for each batch of the rows of a tenant table, each in one transaction.

    The statement contains `BATCH`. The migration needs `atomic = False`.
    """

    def insert(_apps: Any, schema_editor: Any) -> None:
        with schema_editor.connection.cursor() as cursor:
            for bounds in batches(cursor, table):
                cursor.execute(statement, bounds)

    return migrations.RunPython(insert, migrations.RunPython.noop)
