import uuid

import django.contrib.postgres.functions
import django.db.models.deletion
from django.db import migrations, models

import core.db.tenancy
from core.db.tenancy import composite_foreign_key, id_triggers, plan_for_large_accounts


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0021_status_on_roadmap_and_shortcuts"),
    ]

    operations = [
        migrations.AddField(
            model_name="session",
            name="family",
            field=models.UUIDField(
                db_default=django.contrib.postgres.functions.RandomUUID(), default=uuid.uuid4, editable=False
            ),
        ),
        migrations.CreateModel(
            name="Handover",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                ("session_id", models.BigIntegerField()),
                ("host", models.CharField(max_length=255)),
                ("nonce", models.BinaryField()),
                ("digest", models.BinaryField()),
                ("expires_at", models.DateTimeField()),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                (
                    "session",
                    models.ForeignObject(
                        from_fields=["account_id", "session_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="accounts.session",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
            options={
                "default_related_name": "handovers",
                "indexes": [models.Index(fields=["account", "session_id"], name="handover_of_session")],
                "constraints": [models.UniqueConstraint(fields=("account", "digest"), name="handover_digest_unique")],
            },
        ),
        *id_triggers("accounts_handover"),
        composite_foreign_key("accounts_handover", "session_id", "accounts_session", on_delete="CASCADE"),
        *plan_for_large_accounts("accounts_handover"),
    ]
