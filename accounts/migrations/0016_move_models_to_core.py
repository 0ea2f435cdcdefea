from django.db import migrations


class Migration(migrations.Migration):
    """Hand five models over to `core`, with their tables: the database does not change."""

    dependencies = [("accounts", "0015_rename_completed")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel(name)
                for name in ("RateCount", "Change", "IdempotentAnswer", "StaleWord", "Word")
            ]
        )
    ]
