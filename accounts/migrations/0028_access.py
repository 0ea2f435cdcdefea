import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import core.db.tenancy
import core.search.declaration
from core.db.tenancy import composite_foreign_key, id_triggers, plan_for_large_accounts


class Migration(migrations.Migration):
    """Add the setting that limits the rows of agents, and the groups of users."""

    dependencies = [("accounts", "0027_resources_with_fields")]

    operations = [
        migrations.CreateModel(
            name="Group",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                ("name", models.CharField(max_length=255)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
            ],
            options={
                "default_related_name": "user_groups",
                "constraints": [
                    models.UniqueConstraint(fields=["account", "name"], name="group_name_unique"),
                    core.search.declaration.Search(
                        by_account=False, condition=models.Q(), name="group_search", name_field="name"
                    ),
                ],
            },
        ),
        migrations.AddField(
            "account",
            "agents_see",
            models.CharField(choices=[("all", "All"), ("own", "Own")], db_default="all", default="all", max_length=255),
        ),
        migrations.AddField("user", "group_id", models.BigIntegerField(null=True)),
        migrations.AddIndex(
            "user",
            models.Index(
                condition=models.Q(("group_id__isnull", False)), fields=["account", "group_id"], name="user_of_group"
            ),
        ),
        *id_triggers("accounts_group"),
        composite_foreign_key("accounts_user", "group_id", "accounts_group", on_delete="SET NULL"),
        *plan_for_large_accounts("accounts_group"),
    ]
