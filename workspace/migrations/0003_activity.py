from pathlib import Path

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models, transaction

SQL = Path(__file__).with_suffix(".sql").read_text()
BATCH_SIZE = 2000
# In this order, because the next tasks of contacts depend on those of deals, and those of clients on both.
KINDS = ("deal", "contact", "client")
ACTIVITY_KINDS = ("note", "call", "meeting", "email", "task_done", "suggestion", "vote", "message")


def update_summaries(apps, schema_editor):
    """Compute all summaries again. Each batch is one transaction."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT id FROM accounts_account ORDER BY id")
        for (account_id,) in cursor.fetchall():
            for kind in KINDS:
                update_kind(cursor, account_id, kind)


def update_kind(cursor, account_id, kind):
    after = 0
    while True:
        cursor.execute(
            f"SELECT id FROM crm_{kind} WHERE account_id = %s AND id > %s ORDER BY id LIMIT %s",  # noqa: S608
            [account_id, after, BATCH_SIZE],
        )
        ids = [id for (id,) in cursor.fetchall()]
        if not ids:
            return
        after = ids[-1]
        arrays = [ids if kind == each else [] for each in KINDS]
        with transaction.atomic():
            cursor.execute(
                "SELECT workspace_update_summaries(%s, %s::bigint[], %s::bigint[], %s::bigint[])", [account_id, *arrays]
            )


class Migration(migrations.Migration):
    """Make the last activity of a row the time of the last contact on its timeline."""

    # So that the indexes are created beside the work of the service, and each batch of summaries is one transaction.
    atomic = False
    dependencies = [("crm", "0001_initial"), ("forum", "0001_initial"), ("workspace", "0002_forum_segments")]

    operations = [
        *(
            AddIndexConcurrently(
                "timelineentry",
                models.Index(
                    fields=["account", f"{link}_id", "at"],
                    name=f"activity_of_{link}",
                    condition=models.Q((f"{link}_id__isnull", False), ("kind__in", ACTIVITY_KINDS)),
                ),
            )
            for link in ("client", "contact", "deal")
        ),
        migrations.RunSQL(SQL),
        migrations.RunPython(update_summaries, migrations.RunPython.noop),
    ]
