from django.db import migrations


class Migration(migrations.Migration):
    """Drop the index for LIKE that Django creates with a unique text. No query compares the beginning of a key."""

    dependencies = [("core", "0004_jobs"), ("accounts", "0033_words_by_account")]

    operations = [
        migrations.RunSQL("DROP INDEX IF EXISTS accounts_ratecount_key_00072709_like", migrations.RunSQL.noop)
    ]
