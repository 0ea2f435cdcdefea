"""The table of indexes in `docs/design.md`."""

import re
from pathlib import Path

from django.db import connection

DOCUMENT = Path(__file__).parents[2] / "docs" / "design.md"


def test_the_documented_indexes_are_those_of_the_database(db):
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT indexname FROM pg_indexes
            WHERE schemaname = 'public' AND starts_with(tablename, 'forum_') AND indexname NOT LIKE '%\\_pkey'
            """
        )
        indexes = {name for (name,) in cursor.fetchall()}
    section = DOCUMENT.read_text().partition("## Indexes\n")[2].partition("\n# ")[0]
    first_cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    documented = [name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(documented) == sorted(indexes)
