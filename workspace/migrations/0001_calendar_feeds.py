import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import core.db.tenancy
from core.db.tenancy import composite_foreign_key, id_triggers, plan_for_large_accounts


class Migration(migrations.Migration):
    """The private addresses of the calendars of tasks."""

    initial = True
    dependencies = [("accounts", "0026_branding")]

    operations = [
        migrations.CreateModel(
            name="CalendarFeed",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("user_id", models.BigIntegerField()),
                (
                    "user",
                    models.ForeignObject(
                        from_fields=["account_id", "user_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="accounts.user",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("digest", models.BinaryField(max_length=32)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "default_related_name": "calendar_feeds",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "user_id"), name="calendarfeed_of_user"),
                    models.UniqueConstraint(fields=("account", "digest"), name="calendarfeed_digest"),
                ],
            },
        ),
        *id_triggers("workspace_calendarfeed"),
        composite_foreign_key("workspace_calendarfeed", "user_id", "accounts_user", on_delete="CASCADE"),
        *plan_for_large_accounts("workspace_calendarfeed"),
    ]
