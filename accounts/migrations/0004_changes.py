import django.db.models.deletion
from django.db import migrations, models

from core.changes.models import CREATE_CHANGE_FUNCTION, DROP_CHANGE_FUNCTION, change_triggers


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_ratecount")]

    operations = [
        migrations.CreateModel(
            name="Change",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "position", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("position", models.BigIntegerField()),
                ("number", models.BigIntegerField(null=True)),
                ("resource", models.CharField(max_length=255)),
                ("id", models.BigIntegerField()),
                (
                    "change",
                    models.CharField(
                        choices=[
                            ("created", "Created"),
                            ("updated", "Updated"),
                            ("deleted", "Deleted"),
                            ("restored", "Restored"),
                        ],
                        max_length=255,
                    ),
                ),
                ("at", models.DateTimeField()),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
            ],
            options={
                "default_related_name": "changes",
                "constraints": [models.UniqueConstraint(fields=("account", "number"), name="change_number_unique")],
                "indexes": [
                    models.Index(
                        condition=models.Q(("number", None)), fields=["account", "position"], name="change_unnumbered"
                    ),
                ],
            },
        ),
        migrations.RunSQL(CREATE_CHANGE_FUNCTION, DROP_CHANGE_FUNCTION),
        change_triggers("accounts_status", "status", trash=False),
    ]
