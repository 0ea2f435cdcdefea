"""The columns of indexes, and the columns that a change writes.

PostgreSQL can write a new version of a row without entries in indexes (heap-only) if none of the changed columns is in an index. Whether it
does so depends on the room in the page of the row, too, so tests compare the columns.
"""

from collections.abc import Callable

from django.db import connection
from django.db.models import Model

# An index depends on the columns of its keys, its expressions and its condition. The index of a constraint depends on the constraint instead.
INDEXED_COLUMNS = """
SELECT attname FROM pg_index JOIN pg_attribute ON attrelid = indrelid
WHERE indrelid = %s::regclass AND (attnum = ANY(indkey) OR EXISTS (
    SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = indexrelid AND refobjid = indrelid AND refobjsubid = attnum
))
"""


def indexed_columns(model: type[Model]) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(INDEXED_COLUMNS, [model._meta.db_table])
        return {name for (name,) in cursor.fetchall()}


def columns_changed_by(act: Callable[[], object], row: Model) -> set[str]:
    """Return the names of the columns of a row that an action changes."""
    before = _values(row)
    act()
    after = _values(row)
    return {name for name in before if before[name] != after[name]}


def _values(row: Model) -> dict[str, str | None]:
    """Return the values of all columns as text, generated columns too."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT key, value FROM {row._meta.db_table} AS stored, jsonb_each_text(to_jsonb(stored)) WHERE account_id = %s AND id = %s",  # noqa: S608
            [row.account_id, row.id],
        )
        return dict(cursor.fetchall())
