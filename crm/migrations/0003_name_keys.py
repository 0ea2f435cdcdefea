"""Names of contact lists are unique without regard to case and to the number of blanks."""

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
        fill(cursor, "crm_contactlist", "name", "account_id", "trashed_at IS NULL")


class Migration(migrations.Migration):
    dependencies = [("crm", "0002_emails")]

    operations = [
        migrations.AddField("contactlist", "name_key", models.TextField(editable=False, null=True)),
        migrations.RunPython(fill_keys, migrations.RunPython.noop, elidable=True),
        migrations.RemoveConstraint("contactlist", "contact_list_name_unique"),
        migrations.AddConstraint(
            "contactlist",
            models.UniqueConstraint(
                condition=models.Q(("trashed_at", None)),
                fields=("account", "name_key"),
                name="contact_list_name_key_unique",
            ),
        ),
    ]
