"""Empty the database after tests that commit, and fill tables without their triggers."""

import contextlib
from collections.abc import Iterator
from functools import cache

from django.db import ProgrammingError, connection, transaction
from django.db.backends.utils import CursorWrapper

from core.search.declaration import searched_models

# The variable that is set if the tests run on a server of their own.
OWN_SERVER = "TESTS_OWN_SERVER"
# A larger table is truncated: every later scan would read its dead rows.
MAX_DELETED_BYTES = 1024 * 1024


def outer_transaction() -> transaction.Atomic:
    """Return a transaction that a test undoes. As in the transaction of a test case, the code within it may begin a durable one."""
    atomic = transaction.atomic()
    atomic._from_testcase = True
    return atomic


@cache
def tables() -> list[str]:
    names = [name for name in connection.introspection.table_names() if name != "django_migrations"]
    # It refers to the accounts, but is not in the schema `public`.
    return [*names, "account_ids.counter"]


def empty() -> None:
    """Remove all rows.

    DELETE takes a tenth of the time of TRUNCATE, which creates new files for each table and index. It needs a role that may
    disable triggers and foreign keys, such as the role of the tests' own server; otherwise the tables are truncated.
    """
    sizes = f"SELECT max(pg_relation_size(oid)) FROM pg_class WHERE relname = ANY('{{{','.join(tables())}}}')"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(sizes)
        if cursor.fetchone()[0] <= MAX_DELETED_BYTES and delete():
            return
        with transaction.atomic():
            # The trigger refuses to truncate the audit log.
            cursor.execute("ALTER TABLE accounts_auditentry DISABLE TRIGGER keep_entries")
            cursor.execute(f"TRUNCATE {', '.join(tables())}")
            cursor.execute("ALTER TABLE accounts_auditentry ENABLE TRIGGER keep_entries")


def delete() -> bool:
    """Delete all rows. Return False if the role may not disable triggers."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute("; ".join(f"DELETE FROM {name}" for name in tables()))  # noqa: S608
    except ProgrammingError:
        return False
    return True


# The names and the definitions of the indexes of tables, except those of constraints. A definition includes the statistics of columns.
INDEXES = """
    SELECT index.indexrelid::regclass::text, concat_ws('; ', pg_get_indexdef(index.indexrelid), (
        SELECT string_agg(
            format('ALTER INDEX %%s ALTER COLUMN %%s SET STATISTICS %%s', index.indexrelid::regclass, attnum, attstattarget), '; '
        )
        FROM pg_attribute WHERE attrelid = index.indexrelid AND attstattarget >= 0
    ))
    FROM pg_index AS index
    WHERE index.indrelid = ANY(%s::regclass[]) AND index.indexrelid NOT IN (SELECT conindid FROM pg_constraint)
"""


@contextlib.contextmanager
def without_triggers(*names: str) -> Iterator[CursorWrapper]:
    """Yield a cursor of a transaction in which these tables have no triggers except that of the search, and only the indexes of their constraints.

    The indexes are created again at the end, which takes much less time than to insert many rows into them, and the tables are
    analyzed. A test that fails in the transaction leaves the tables as they were.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        for name in names:
            cursor.execute(f"ALTER TABLE {name} DISABLE TRIGGER USER")
            if name in {model._meta.db_table for model in searched_models()}:
                # The columns of the search are part of a row.
                cursor.execute(f"ALTER TABLE {name} ENABLE TRIGGER {name}_update_search")
        cursor.execute(INDEXES, [list(names)])
        indexes = cursor.fetchall()
        for index, _definition in indexes:
            cursor.execute(f"DROP INDEX {index}")
        yield cursor
        # PostgreSQL alters no table whose foreign keys have still to be checked.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for _index, definition in indexes:
            cursor.execute(definition)
        for name in names:
            cursor.execute(f"ALTER TABLE {name} ENABLE TRIGGER USER")
        cursor.execute(f"ANALYZE {', '.join(names)}")
