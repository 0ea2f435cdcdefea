from django.db import migrations, models

# The roadmap had the statuses with these codes.
SELECT = (
    "UPDATE accounts_status SET on_roadmap = true WHERE kind = 'post' AND code IN ('planned', 'started', 'completed')"
)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0019_sign_in_codes")]

    operations = [
        migrations.AddField("status", "on_roadmap", models.BooleanField(db_default=False, default=False)),
        migrations.AddField("user", "shortcuts", models.BooleanField(db_default=True, default=True)),
        # `noop` backwards: the column goes away.
        migrations.RunSQL(SELECT, migrations.RunSQL.noop),
    ]
