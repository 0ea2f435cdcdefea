import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import core.db.tenancy
from core.db.tenancy import composite_foreign_key, id_triggers, plan_for_large_accounts


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0017_declare_search"),
        ("core", "0003_follower"),
    ]

    operations = [
        migrations.CreateModel(
            name="Endpoint",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                ("url", models.CharField(max_length=2000)),
                (
                    "events",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), blank=True, null=True, size=None
                    ),
                ),
                (
                    "format",
                    models.CharField(
                        choices=[
                            ("standard", "Standard Webhooks (JSON)"),
                            ("slack", "A message for Slack, Mattermost or Discord"),
                        ],
                        default="standard",
                        max_length=255,
                    ),
                ),
                ("enabled", models.BooleanField(default=True)),
                (
                    "disabled_reason",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("user", "Somebody turned it off."),
                            ("gone", "It answered “410 Gone”."),
                            ("failing", "All attempts failed for five days."),
                        ],
                        max_length=255,
                        null=True,
                    ),
                ),
                ("secret", models.TextField()),
                ("previous_secret", models.TextField(null=True)),
                ("previous_secret_expires_at", models.DateTimeField(null=True)),
                ("failing_since", models.DateTimeField(editable=False, null=True)),
                ("rejected_since", models.DateTimeField(editable=False, null=True)),
                ("delivered_at", models.DateTimeField(editable=False, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
            ],
            options={
                "db_table": "webhooks_endpoint",
                "default_related_name": "webhooks",
            },
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                ("endpoint_id", models.BigIntegerField()),
                (
                    "cause",
                    models.CharField(
                        choices=[("event", "event"), ("resend", "sent again"), ("test", "test")], max_length=255
                    ),
                ),
                ("message", models.CharField(max_length=255)),
                ("event", models.CharField(max_length=255)),
                ("number", models.BigIntegerField(null=True)),
                ("attempt", models.IntegerField()),
                ("at", models.DateTimeField()),
                ("duration_ms", models.IntegerField()),
                ("status", models.IntegerField(null=True)),
                ("error", models.CharField(max_length=255, null=True)),
                ("request", models.TextField()),
                ("response", models.TextField()),
                ("set_aside", models.BooleanField(default=False)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                (
                    "endpoint",
                    models.ForeignObject(
                        from_fields=["account_id", "endpoint_id"],
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="webhooks.endpoint",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
            options={
                "db_table": "webhooks_delivery",
                "default_related_name": "webhook_deliveries",
                "indexes": [
                    models.Index(fields=["account", "endpoint_id", "id"], name="delivery_of_endpoint"),
                    models.Index(fields=["at"], name="delivery_at"),
                ],
            },
        ),
        *id_triggers("webhooks_endpoint", "webhooks_delivery"),
        composite_foreign_key("webhooks_delivery", "endpoint_id", "webhooks_endpoint", on_delete="CASCADE"),
        *plan_for_large_accounts("webhooks_endpoint", "webhooks_delivery"),
    ]
