"""Names of groups, pipelines and statuses are unique without regard to case and to the number of blanks."""

import unicodedata

from django.db import migrations, models

BATCH = 1000


def fold(text):
    """Return the text by which names are compared: without regard to case and to the number of blanks."""
    text = unicodedata.normalize("NFC", " ".join(text.split()))
    return unicodedata.normalize("NFC", text.casefold())


def fill(cursor, table, column, scope, where="true"):
    """Set `{column}_key` of all rows. Of rows whose keys are equal within the scope, the later ones get a number after the name."""
    cursor.execute(f"SELECT {scope}, id, {column}, {where} FROM {table} ORDER BY id")  # noqa: S608
    taken, keys, renamed = set(), [], []
    for *place, id, text, is_unique in cursor.fetchall():
        account_id, name, number = place[0], text, 2
        while is_unique and (*place, fold(name)) in taken:
            suffix = f" ({number})"
            name, number = text.rstrip()[: 255 - len(suffix)] + suffix, number + 1
        if is_unique:
            taken.add((*place, fold(name)))
        keys.append((account_id, id, fold(name)))
        if name != text:
            renamed.append((account_id, id, name))
    # The triggers would report a change of every row.
    cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
    write(cursor, table, f"{column}_key", keys)
    cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
    write(cursor, table, column, renamed)
    cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def write(cursor, table, column, rows):
    for start in range(0, len(rows), BATCH):
        accounts, ids, texts = map(list, zip(*rows[start : start + BATCH], strict=True))
        cursor.execute(
            f"UPDATE {table} SET {column} = new.text FROM unnest(%s::bigint[], %s::bigint[], %s::text[])"  # noqa: S608
            f" AS new (account_id, id, text) WHERE {table}.account_id = new.account_id AND {table}.id = new.id",
            [accounts, ids, texts],
        )


def fill_keys(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        fill(cursor, "accounts_group", "name", "account_id")
        fill(cursor, "accounts_pipeline", "name", "account_id")
        fill(cursor, "accounts_status", "code", "account_id, kind")
        fill(cursor, "accounts_status", "name", "account_id, kind, COALESCE(pipeline_id, 0)")


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_invitation_sites")]

    operations = [
        *(
            migrations.AddField(model, name, models.TextField(editable=False, null=True))
            for model, name in (
                ("group", "name_key"),
                ("pipeline", "name_key"),
                ("status", "code_key"),
                ("status", "name_key"),
            )
        ),
        migrations.RunPython(fill_keys, migrations.RunPython.noop, elidable=True),
        migrations.RemoveConstraint("group", "group_name_unique"),
        migrations.RemoveConstraint("pipeline", "pipeline_name_unique"),
        migrations.RemoveConstraint("status", "status_code_unique"),
        migrations.RemoveConstraint("status", "status_name_unique"),
        migrations.RemoveConstraint("status", "deal_status_name_unique"),
        migrations.AddConstraint(
            "group", models.UniqueConstraint(fields=("account", "name_key"), name="group_name_key_unique")
        ),
        migrations.AddConstraint(
            "pipeline", models.UniqueConstraint(fields=("account", "name_key"), name="pipeline_name_key_unique")
        ),
        migrations.AddConstraint(
            "status", models.UniqueConstraint(fields=("account", "kind", "code_key"), name="status_code_key_unique")
        ),
        migrations.AddConstraint(
            "status",
            models.UniqueConstraint(
                condition=models.Q(("kind", "deal"), _negated=True),
                fields=("account", "kind", "name_key"),
                name="status_name_key_unique",
            ),
        ),
        migrations.AddConstraint(
            "status",
            models.UniqueConstraint(
                condition=models.Q(("kind", "deal")),
                fields=("account", "pipeline_id", "name_key"),
                name="deal_status_name_key_unique",
            ),
        ),
    ]
