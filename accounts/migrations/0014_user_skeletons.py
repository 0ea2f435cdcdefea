from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

import accounts.names
from accounts.names import skeleton

BATCH = 1000
BATCH_SQL = """
    SELECT account_id, id, login, email FROM accounts_user
    WHERE login_skeleton = '' AND (account_id, id) > (%s, %s) ORDER BY account_id, id LIMIT %s
"""
FILL = """
    UPDATE accounts_user SET login_skeleton = %s, email_skeleton = %s
    WHERE account_id = %s AND id = %s AND login = %s AND email = %s
"""


def fill(apps, schema_editor):
    """Fill in the rows that have none, in short transactions. Users whose names look alike keep them."""
    with schema_editor.connection.cursor() as cursor:
        last = (0, 0)
        while True:
            cursor.execute(BATCH_SQL, [*last, BATCH])
            rows = cursor.fetchall()
            if not rows:
                return
            last = rows[-1][:2]
            cursor.executemany(FILL, [[skeleton(row[2]), skeleton(row[3]), *row] for row in rows])


class Migration(migrations.Migration):
    """Beside the work of the service, so not in one transaction. If it is broken off, drop what it made before it runs again."""

    atomic = False
    dependencies = [("accounts", "0013_large_accounts")]

    operations = [
        *(
            migrations.AddField(
                model_name="user",
                name=f"{name}_skeleton",
                field=accounts.names.SkeletonField(db_default="", default="", source=name),
            )
            for name in ("login", "email")
        ),
        migrations.RunPython(fill, migrations.RunPython.noop, elidable=True),
        *(
            AddIndexConcurrently(
                "user", models.Index(fields=["account", f"{name}_skeleton"], name=f"user_{name}_skeleton")
            )
            for name in ("login", "email")
        ),
    ]
