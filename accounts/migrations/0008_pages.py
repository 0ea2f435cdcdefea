import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import core.db.tenancy
from core.db.tenancy import composite_foreign_key, id_triggers


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0007_status_search"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="language",
            field=models.CharField(blank=True, max_length=255, null=True),
        ),
        migrations.AddField(
            model_name="user",
            name="time_zone",
            field=models.CharField(blank=True, max_length=255, null=True),
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                ("email", models.CharField(max_length=255)),
                ("email_key", core.db.tenancy.FoldedField(source="email")),
                ("role", models.CharField(max_length=255)),
                ("digest", models.BinaryField()),
                ("invited_by_id", models.BigIntegerField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("expires_at", models.DateTimeField()),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                (
                    "invited_by",
                    models.ForeignObject(
                        from_fields=["account_id", "invited_by_id"],
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.user",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
            options={
                "default_related_name": "invitations",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "email_key"), name="invitation_email_unique"),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ("admin", "agent", "member"))), name="invitation_role"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Session",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                ("user_id", models.BigIntegerField()),
                ("digest", models.BinaryField()),
                ("agent", models.CharField(blank=True, default="", max_length=255)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("seen_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                (
                    "user",
                    models.ForeignObject(
                        from_fields=["account_id", "user_id"],
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sessions",
                        to="accounts.user",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
            options={
                "default_related_name": "sessions",
                "indexes": [
                    models.Index(fields=["account", "user_id"], name="session_of_user"),
                ],
                "constraints": [models.UniqueConstraint(fields=("account", "digest"), name="session_digest_unique")],
            },
        ),
        *id_triggers("accounts_invitation", "accounts_session"),
        composite_foreign_key("accounts_invitation", "invited_by_id", "accounts_user", on_delete="CASCADE"),
        composite_foreign_key("accounts_session", "user_id", "accounts_user", on_delete="CASCADE"),
    ]
