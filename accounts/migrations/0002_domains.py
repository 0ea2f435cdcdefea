import uuid

import django.contrib.postgres.functions
import django.db.models.functions.datetime
from django.db import migrations, models

# Sessions at custom domains have the rights of a member from now on. Until now, a session did not record its host, so the sessions of
# accounts with such a domain end, and their users sign in again.
END_SESSIONS = """
DELETE FROM accounts_session WHERE account_id IN (SELECT account_id FROM accounts_host WHERE name LIKE '%.%')
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="host", name="host_name_unique"),
        # The domains that exist count as proven now, and are checked within a day.
        migrations.AddField(
            model_name="host",
            name="checked_at",
            field=models.DateTimeField(
                db_default=django.db.models.functions.datetime.Now(), default=None, editable=False, null=True
            ),
        ),
        migrations.AddField(
            model_name="host",
            name="failing_since",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="host",
            name="proven_at",
            field=models.DateTimeField(
                db_default=django.db.models.functions.datetime.Now(), default=None, editable=False, null=True
            ),
        ),
        migrations.AddField(
            model_name="host",
            name="token",
            field=models.UUIDField(
                db_default=django.contrib.postgres.functions.RandomUUID(), default=uuid.uuid4, editable=False
            ),
        ),
        migrations.AddField(
            model_name="session",
            name="domain",
            field=models.CharField(blank=True, db_default="", default="", max_length=255),
        ),
        migrations.AddConstraint(
            model_name="host",
            constraint=models.UniqueConstraint(
                condition=models.Q(("proven_at__isnull", False)), fields=("name",), name="host_name_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="host",
            constraint=models.UniqueConstraint(fields=("account", "name"), name="host_name_of_account"),
        ),
        migrations.RunSQL(END_SESSIONS, migrations.RunSQL.noop),
    ]
