from django.db import migrations, transaction

# The tables with search columns, and a column on which all of these columns depend.
TABLES = {
    "accounts_group": "name",
    "accounts_pipeline": "name",
    "accounts_status": "name",
    "accounts_user": "name",
    "crm_client": "name",
    "crm_contact": "name",
    "crm_contactlist": "name",
    "crm_deal": "name",
    "crm_fielddefinition": "label",
    "crm_note": "excerpt",
    "forum_post": "title",
}
BATCH_SIZE = 1000


def compute_search_columns(apps, schema_editor):
    """Compute the search columns of all rows again. Each batch is one transaction.

    The triggers are disabled, because the change feed must not report the rows as changed. This blocks other writes to the table during
    the batch.
    """
    with schema_editor.connection.cursor() as cursor:
        for table, column in TABLES.items():
            after = (0, 0)
            while True:
                cursor.execute(
                    f"SELECT account_id, id FROM {table} WHERE (account_id, id) > (%s, %s) ORDER BY account_id, id LIMIT %s",  # noqa: S608
                    [*after, BATCH_SIZE],
                )
                keys = cursor.fetchall()
                if not keys:
                    break
                with transaction.atomic():
                    cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
                    cursor.execute(
                        f"UPDATE {table} SET {column} = {column}"  # noqa: S608
                        " WHERE (account_id, id) > (%s, %s) AND (account_id, id) <= (%s, %s)",
                        [*after, *keys[-1]],
                    )
                    # A table with pending checks of foreign keys cannot be altered.
                    cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
                    cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
                after = keys[-1]
            cursor.execute(f"ANALYZE {table}")


class Migration(migrations.Migration):
    """Compute the search columns of existing rows with the functions that `core` has replaced."""

    atomic = False
    dependencies = [
        ("accounts", "0001_initial"),
        ("core", "0004_search"),
        ("crm", "0001_initial"),
        ("forum", "0001_initial"),
        ("workspace", "0003_activity"),
    ]

    operations = [migrations.RunPython(compute_search_columns, migrations.RunPython.noop)]
