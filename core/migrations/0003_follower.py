import django.db.models.deletion
from django.db import migrations, models

from core.db.tenancy import plan_for_large_accounts

# Followers begin with the changes that are made from now on. A follower begins before the changes that have no number when it is
# created, so earlier changes get their numbers here.
NUMBER_ALL_CHANGES = """
WITH unnumbered AS (
    SELECT account_id, position, row_number() OVER (PARTITION BY account_id ORDER BY position) AS place
    FROM accounts_change WHERE number IS NULL
), base AS (
    SELECT account_id, coalesce(max(number), 0) AS number FROM accounts_change
    WHERE account_id IN (SELECT account_id FROM unnumbered) GROUP BY account_id
)
UPDATE accounts_change SET number = base.number + unnumbered.place
FROM unnumbered JOIN base USING (account_id)
WHERE accounts_change.account_id = unnumbered.account_id AND accounts_change.position = unnumbered.position
"""
LOCK = "LOCK TABLE accounts_change IN SHARE ROW EXCLUSIVE MODE"


class Migration(migrations.Migration):
    dependencies = [("core", "0001_initial")]

    operations = [
        migrations.RunSQL([LOCK, NUMBER_ALL_CHANGES], migrations.RunSQL.noop),
        migrations.CreateModel(
            name="Follower",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "name", "key", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=255)),
                ("key", models.BigIntegerField(default=0)),
                ("cursor", models.BigIntegerField()),
                ("newest", models.BigIntegerField()),
                ("due_at", models.DateTimeField(null=True)),
                ("token", models.BigIntegerField(default=0)),
                ("failures", models.IntegerField(default=0)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
            ],
            options={
                "db_table": "core_follower",
                "default_related_name": "followers",
                "indexes": [
                    models.Index(
                        condition=models.Q(("due_at__isnull", False)), fields=["name", "due_at"], name="follower_due"
                    )
                ],
            },
        ),
        *plan_for_large_accounts("core_follower"),
    ]
