import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import core.db.tenancy
from core.db.tenancy import composite_foreign_key, id_triggers, plan_for_large_accounts


class Migration(migrations.Migration):
    """Bulk changes of clients, contacts and deals, and their rows."""

    dependencies = [
        ("accounts", "0029_pipelines"),
        ("workspace", "0004_saved_views"),
    ]

    operations = [
        migrations.CreateModel(
            name="BulkChange",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                ("author_id", models.BigIntegerField(editable=False)),
                ("resource", models.CharField(max_length=255)),
                ("action", models.CharField(max_length=255)),
                ("value", models.JSONField(null=True)),
                ("query", models.TextField(default="")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("running", "Running"),
                            ("done", "Done"),
                            ("cancelled", "Cancelled"),
                            ("failed", "Failed"),
                            ("undoing", "Being undone"),
                            ("undone", "Undone"),
                        ],
                        default="running",
                        max_length=255,
                    ),
                ),
                (
                    "failure",
                    models.CharField(
                        choices=[
                            ("", ""),
                            ("value", "The person, status or contact list that was chosen is no longer available."),
                            ("user", "The person who started it has left the team."),
                        ],
                        default="",
                        max_length=255,
                    ),
                ),
                ("position", models.BigIntegerField(default=0)),
                ("total", models.IntegerField()),
                ("changed", models.IntegerField(default=0)),
                ("unchanged", models.IntegerField(default=0)),
                ("skipped", models.IntegerField(default=0)),
                ("restored", models.IntegerField(default=0)),
                ("kept", models.IntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("finished_at", models.DateTimeField(null=True)),
                ("undone_by_id", models.BigIntegerField(editable=False, null=True)),
                ("undone_at", models.DateTimeField(null=True)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                (
                    "author",
                    models.ForeignObject(
                        from_fields=["account_id", "author_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="accounts.user",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
            options={
                "default_related_name": "bulk_changes",
            },
        ),
        migrations.CreateModel(
            name="BulkChangeRow",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "bulk_change_id",
                        "target",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("bulk_change_id", models.BigIntegerField()),
                ("target", models.BigIntegerField()),
                ("result", models.CharField(default="", max_length=255)),
                ("undo_result", models.CharField(default="", max_length=255)),
                ("before", models.JSONField(null=True)),
                ("after", models.JSONField(null=True)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
                (
                    "bulk_change",
                    models.ForeignObject(
                        from_fields=["account_id", "bulk_change_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="bulk_rows",
                        to="workspace.bulkchange",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="bulkchange",
            index=models.Index(fields=["account", "author_id", "id"], name="bulk_change_of_author"),
        ),
        migrations.AddIndex(
            model_name="bulkchange",
            index=models.Index(fields=["created_at"], name="bulk_change_by_creation"),
        ),
        migrations.AddIndex(
            model_name="bulkchange",
            index=models.Index(
                condition=models.Q(("state__in", ("running", "undoing"))),
                fields=["updated_at"],
                name="bulk_change_active",
            ),
        ),
        *id_triggers("workspace_bulkchange"),
        composite_foreign_key("workspace_bulkchange", "author_id", "accounts_user"),
        composite_foreign_key("workspace_bulkchange", "undone_by_id", "accounts_user"),
        composite_foreign_key("workspace_bulkchangerow", "bulk_change_id", "workspace_bulkchange", on_delete="CASCADE"),
        *plan_for_large_accounts("workspace_bulkchange", "workspace_bulkchangerow"),
    ]
