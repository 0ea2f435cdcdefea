import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import core.db.additional_fields
import core.db.tenancy
from core.db.tenancy import composite_foreign_key, id_triggers, plan_for_large_accounts


class Migration(migrations.Migration):
    """Merges of clients and of contacts."""

    dependencies = [
        ("accounts", "0029_pipelines"),
        ("crm", "0021_further_external_ids"),
        ("workspace", "0005_bulk_changes"),
    ]

    operations = [
        migrations.CreateModel(
            name="MergedRow",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "merge_id",
                        "link",
                        "row_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("merge_id", models.BigIntegerField()),
                ("link", models.CharField(max_length=255)),
                ("row_id", models.BigIntegerField()),
                ("deleted", models.JSONField(null=True)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Merge",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                ("client_id", models.BigIntegerField(null=True)),
                ("merged_client_id", models.BigIntegerField(null=True)),
                ("contact_id", models.BigIntegerField(null=True)),
                ("merged_contact_id", models.BigIntegerField(null=True)),
                ("user_id", models.BigIntegerField()),
                (
                    "changes",
                    models.JSONField(
                        decoder=core.db.additional_fields._Decoder,
                        default=dict,
                        encoder=core.db.additional_fields._Encoder,
                    ),
                ),
                ("external_ids", models.JSONField(default=list)),
                ("undone_at", models.DateTimeField(null=True)),
                ("undone_by_id", models.BigIntegerField(null=True)),
                ("unrestored_fields", models.JSONField(default=list)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                (
                    "merged_client",
                    models.ForeignObject(
                        from_fields=["account_id", "merged_client_id"],
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="crm.client",
                        to_fields=["account_id", "id"],
                    ),
                ),
                (
                    "merged_contact",
                    models.ForeignObject(
                        from_fields=["account_id", "merged_contact_id"],
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="crm.contact",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
            options={
                "default_related_name": "merges",
                "indexes": [
                    models.Index(fields=["account", "updated_at", "id"], name="merge_by_change"),
                    models.Index(fields=["account", "created_at", "id"], name="merge_by_creation"),
                    models.Index(
                        condition=models.Q(("client_id__isnull", False)),
                        fields=["account", "client_id", "id"],
                        name="merge_of_client",
                    ),
                    models.Index(
                        condition=models.Q(("contact_id__isnull", False)),
                        fields=["account", "contact_id", "id"],
                        name="merge_of_contact",
                    ),
                    models.Index(
                        condition=models.Q(("merged_client_id__isnull", False)),
                        fields=["account", "merged_client_id", "id"],
                        name="merge_of_merged_client",
                    ),
                    models.Index(
                        condition=models.Q(("merged_contact_id__isnull", False)),
                        fields=["account", "merged_contact_id", "id"],
                        name="merge_of_merged_contact",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("client_id__isnull", False),
                                ("contact_id", None),
                                ("merged_client_id__isnull", False),
                                ("merged_contact_id", None),
                            ),
                            models.Q(
                                ("client_id", None),
                                ("contact_id__isnull", False),
                                ("merged_client_id", None),
                                ("merged_contact_id__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="merge_of_clients_or_contacts",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("undone_at", None)),
                        fields=("account", "merged_client_id"),
                        name="merge_of_client_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("undone_at", None)),
                        fields=("account", "merged_contact_id"),
                        name="merge_of_contact_once",
                    ),
                ],
            },
        ),
        *id_triggers("workspace_merge"),
        *(
            composite_foreign_key("workspace_merge", f"{prefix}{resource}_id", f"crm_{resource}", on_delete="CASCADE")
            for resource in ("client", "contact")
            for prefix in ("", "merged_")
        ),
        composite_foreign_key("workspace_merge", "user_id", "accounts_user"),
        composite_foreign_key("workspace_merge", "undone_by_id", "accounts_user"),
        composite_foreign_key("workspace_mergedrow", "merge_id", "workspace_merge", on_delete="CASCADE"),
        *plan_for_large_accounts("workspace_merge", "workspace_mergedrow"),
    ]
