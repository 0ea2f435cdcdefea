from django.db import migrations, models

CREATE_INDEX = (
    "CREATE UNIQUE INDEX CONCURRENTLY change_numbered ON accounts_change (account_id, number) WHERE number IS NOT NULL"
)


class Migration(migrations.Migration):
    """Leave changes without a number out of the unique index of the numbers."""

    # So that changes can be written while the index is built.
    atomic = False
    dependencies = [("core", "0005_drop_like_index")]

    operations = [
        migrations.SeparateDatabaseAndState(
            [
                migrations.RunSQL(
                    [
                        "DROP INDEX CONCURRENTLY IF EXISTS change_numbered",
                        CREATE_INDEX,
                        "ALTER TABLE accounts_change DROP CONSTRAINT IF EXISTS change_number_unique",
                    ],
                    [
                        "ALTER TABLE accounts_change ADD CONSTRAINT change_number_unique UNIQUE (account_id, number)",
                        "DROP INDEX change_numbered",
                    ],
                )
            ],
            [
                migrations.RemoveConstraint("change", "change_number_unique"),
                migrations.AddConstraint(
                    "change",
                    models.UniqueConstraint(
                        condition=models.Q(("number__isnull", False)),
                        fields=("account", "number"),
                        name="change_numbered",
                    ),
                ),
            ],
        )
    ]
