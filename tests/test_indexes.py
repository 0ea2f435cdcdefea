"""The table of indexes in docs/design.md names every index of the tables that it is about, and no other index."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

from django.apps import apps
from django.db import connection

DESIGN = Path(__file__).resolve().parent.parent / "docs" / "design.md"
ROOMS = ("accounts", "core", "crm", "webhooks", "workspace")


def documented_names() -> set[str]:
    """Return the names, with `*` for any text, in the first column of the table."""
    section = DESIGN.read_text().partition("\n## Indexes\n")[2].partition("\n## ")[0]
    return {
        name for cell in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for name in re.findall(r"`(.+?)`", cell)
    }


def indexes() -> dict[str, str]:
    """Return the table of each index."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexname, tablename FROM pg_indexes WHERE schemaname IN ('public', 'account_ids')")
        return dict(cursor.fetchall())


def test_every_index_has_an_entry(db):
    tables = {model._meta.db_table for room in ROOMS for model in apps.get_app_config(room).get_models()}
    names = documented_names()
    missing = {
        index
        for index, table in indexes().items()
        if table in tables and not any(fnmatchcase(index, name) for name in names)
    }
    assert missing == set()


def test_every_entry_has_an_index(db):
    found = indexes()
    assert {name for name in documented_names() if not any(fnmatchcase(index, name) for index in found)} == set()
