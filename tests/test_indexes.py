"""The indexes of the database: `docs/indexes.md` names what needs each of them."""

import re
from fnmatch import fnmatch
from pathlib import Path

from django.conf import settings
from django.db import connection


def documented_patterns() -> list[str]:
    """Return the names and patterns in the first column of the table, from top to bottom."""
    text = Path(settings.BASE_DIR, "docs", "indexes.md").read_text()
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return [pattern for cell in cells for pattern in re.findall("`(.+?)`", cell)]


def test_each_index_is_needed(db):
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT index_class.relname, table_class.relname FROM pg_index
            JOIN pg_class AS index_class ON index_class.oid = indexrelid
            JOIN pg_class AS table_class ON table_class.oid = indrelid
            JOIN pg_namespace AS namespace ON namespace.oid = table_class.relnamespace
            WHERE nspname IN ('public', 'account_ids') AND NOT indisprimary
            """
        )
        names = {name for name, table in cursor.fetchall() if not table.startswith("django_")}
    unused = documented_patterns()
    undocumented = []
    for name in names:
        pattern = next((each for each in documented_patterns() if fnmatch(name, each)), None)
        if pattern is None:
            undocumented.append(name)
        elif pattern in unused:
            unused.remove(pattern)
    assert (sorted(undocumented), unused) == ([], []), "docs/indexes.md: missing indexes, and lines without an index"
