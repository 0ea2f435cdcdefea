from typing import Any

from django.db import migrations

SEARCH_INDEXES = "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'i' AND relname LIKE %s AND reloptions @> %s"


def set_limit(schema_editor: Any, before: int, after: int) -> None:
    """Set the limit of the pending lists of all search indexes. Each statement locks one index for a moment."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(SEARCH_INDEXES, [r"%\_found", [f"gin_pending_list_limit={before}"]])
        for (index,) in cursor.fetchall():
            cursor.execute(f"ALTER INDEX {index} SET (gin_pending_list_limit = {after})")


class Migration(migrations.Migration):
    """Enlarge the pending lists of the search indexes of all rooms (`core.search.operations.PENDING_LIST_LIMIT`)."""

    atomic = False
    dependencies = [
        ("accounts", "0034_parts_by_account"),
        ("crm", "0027_fewer_index_entries"),
        ("forum", "0031_no_order_by_title"),
        ("workspace", "0014_sort_keys_of_posts"),
    ]

    operations = [
        migrations.RunPython(
            lambda _apps, schema_editor: set_limit(schema_editor, 256, 1024),
            lambda _apps, schema_editor: set_limit(schema_editor, 1024, 256),
        )
    ]
