"""Migration operations that set a new column of existing rows, or fill a new table, while the service is running."""

from typing import Any

from django.db import migrations, transaction

BATCH_SIZE = 5000


def fill_column(table: str, column: str, value: str, *, condition: str) -> migrations.RunPython:
    """Return the operation that sets a column of a tenant table, where the condition holds and the value is not null.

    `value` and `condition` are SQL. Each batch is one transaction, so the migration needs `atomic = False`.

    The transaction disables the triggers of the table, because the change feed must not report the rows as changed. This takes a lock
    that blocks other writes to the table, including those of triggers of other tables that update the column. The value may therefore
    depend on rows of these tables.
    """
    batch = f"SELECT account_id, id FROM {table} WHERE (account_id, id) > (%s, %s) ORDER BY account_id, id LIMIT {BATCH_SIZE}"  # noqa: S608
    last = f"SELECT account_id, id FROM ({batch}) AS batch ORDER BY account_id DESC, id DESC LIMIT 1"  # noqa: S608
    update = f"""
        UPDATE {table} SET {column} = new.value FROM (
            SELECT account_id, id, ({value}) AS value FROM {table}
            WHERE (account_id, id) > (%s, %s) AND (account_id, id) <= (%s, %s) AND {condition}
        ) AS new
        WHERE {table}.account_id = new.account_id AND {table}.id = new.id AND new.value IS NOT NULL
    """  # noqa: S608

    def fill(_apps: Any, schema_editor: Any) -> None:
        after = (0, 0)
        with schema_editor.connection.cursor() as cursor:
            while True:
                cursor.execute(last, after)
                key = cursor.fetchone()
                if key is None:
                    return
                with transaction.atomic():
                    cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
                    cursor.execute(update, [*after, *key])
                    cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
                after = key

    return migrations.RunPython(fill, migrations.RunPython.noop)


def insert_in_batches(table: str, statement: str) -> migrations.RunPython:
    """Return the operation that executes a statement for each batch of the rows of a tenant table, each in one transaction.

    In the statement, `{batch}` stands for the condition of the rows. The migration needs `atomic = False`.
    """
    last = f"""
        SELECT account_id, id FROM (
            SELECT account_id, id FROM {table} WHERE (account_id, id) > (%s, %s) ORDER BY account_id, id LIMIT {BATCH_SIZE}
        ) AS batch ORDER BY account_id DESC, id DESC LIMIT 1
    """  # noqa: S608
    sql = statement.format(batch="(account_id, id) > (%s, %s) AND (account_id, id) <= (%s, %s)")

    def insert(_apps: Any, schema_editor: Any) -> None:
        after = (0, 0)
        with schema_editor.connection.cursor() as cursor:
            while True:
                cursor.execute(last, after)
                key = cursor.fetchone()
                if key is None:
                    return
                cursor.execute(sql, [*after, *key])
                after = key

    return migrations.RunPython(insert, migrations.RunPython.noop)
