from django.db import migrations

# Django creates this index for LIKE, which no query of the keys uses.
NAME = "accounts_ratecount_key_00072709_like"


class Migration(migrations.Migration):
    """Drop an index of rate counts that no query uses."""

    dependencies = [("core", "0005_numbered_changes")]

    operations = [
        migrations.RunSQL(
            f"DROP INDEX IF EXISTS {NAME}", f"CREATE INDEX {NAME} ON accounts_ratecount (key varchar_pattern_ops)"
        ),
    ]
