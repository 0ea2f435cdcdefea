import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import core.db.tenancy
from core.db.tenancy import composite_foreign_key, id_triggers, plan_for_large_accounts


class Migration(migrations.Migration):
    dependencies = [("accounts", "0029_pipelines"), ("workspace", "0003_timeline_of_existing_rows")]

    operations = [
        migrations.CreateModel(
            name="SavedView",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                (
                    "resource",
                    models.CharField(
                        choices=[
                            ("client", "Clients"),
                            ("contact", "Contacts"),
                            ("deal", "Deals"),
                            ("task", "Tasks"),
                            ("contact_list", "Contact lists"),
                        ],
                        max_length=255,
                    ),
                ),
                ("name", models.CharField(max_length=60)),
                ("query", models.CharField(blank=True, default="", max_length=4000)),
                ("shared", models.BooleanField(default=False)),
                ("owner_id", models.BigIntegerField(editable=False)),
                ("position", models.IntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                (
                    "owner",
                    models.ForeignObject(
                        from_fields=["account_id", "owner_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="accounts.user",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
            options={
                "default_related_name": "saved_views",
                "indexes": [
                    models.Index(
                        condition=models.Q(("shared", True)),
                        fields=["account", "resource", "position", "id"],
                        name="savedview_shared",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "owner_id", "resource", "name"), name="savedview_name_unique"
                    )
                ],
            },
        ),
        *id_triggers("workspace_savedview"),
        composite_foreign_key("workspace_savedview", "owner_id", "accounts_user", on_delete="CASCADE"),
        *plan_for_large_accounts("workspace_savedview"),
    ]
