from pathlib import Path

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


def run_sql(name):
    # PostgreSQL would check the functions before their tables exist.
    sql = "SET LOCAL check_function_bodies = off;\n" + Path(__file__).with_name(name).read_text()
    return migrations.RunSQL(sql)


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("core", "0002_tables"),
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
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
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
                ("includes_imports", models.BooleanField(default=False)),
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
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("endpoint_id", models.BigIntegerField()),
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
        run_sql("0001_initial.sql"),
    ]
