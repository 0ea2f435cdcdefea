from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_tenancy")]

    operations = [
        migrations.CreateModel(
            name="RateCount",
            fields=[
                ("key", models.CharField(max_length=128, primary_key=True, serialize=False)),
                ("used", models.IntegerField()),
                ("ends_at", models.DateTimeField()),
            ],
        ),
        # Not in the write-ahead log: a count costs no flush, and is gone after a crash.
        migrations.RunSQL("ALTER TABLE accounts_ratecount SET UNLOGGED;", "ALTER TABLE accounts_ratecount SET LOGGED;"),
    ]
