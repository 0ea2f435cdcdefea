from typing import Any

from django.db import migrations

from workspace.recount import update_all


def fill(_apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT id FROM accounts_account ORDER BY id")
        ids = [id for (id,) in cursor.fetchall()]
    for id in ids:
        update_all(id)


class Migration(migrations.Migration):
    """The summaries of the rows that existed before the triggers. Each batch is one transaction, and the migration can be repeated."""

    atomic = False
    dependencies = [("workspace", "0007_summaries")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
