import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.datetime
from django.db import migrations, models

from core.db.tenancy import composite_foreign_key, plan_for_large_accounts
from workspace.post_revenue_triggers import create_triggers


class Migration(migrations.Migration):
    """The stored revenue of suggestions, and the triggers that queue the changes. A job computes the figures of existing suggestions."""

    dependencies = [
        ("accounts", "0030_confirms_user_links"),
        ("crm", "0021_further_external_ids"),
        ("forum", "0025_mentions_in_notes"),
        ("workspace", "0008_existing_summaries"),
    ]

    operations = [
        migrations.RunSQL(
            "CREATE SEQUENCE workspace_revenuechange_numbers CACHE 1", "DROP SEQUENCE workspace_revenuechange_numbers"
        ),
        migrations.CreateModel(
            name="PostRevenue",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "post_id",
                        "currency",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("post_id", models.BigIntegerField()),
                ("currency", models.TextField()),
                ("forum_id", models.BigIntegerField()),
                ("clients", models.IntegerField()),
                ("open_deals", models.IntegerField(default=0)),
                ("open_sum", models.DecimalField(decimal_places=6, default=0, max_digits=30)),
                ("won_deals", models.IntegerField(default=0)),
                ("won_sum", models.DecimalField(decimal_places=6, default=0, max_digits=30)),
                (
                    "total",
                    models.GeneratedField(
                        db_persist=True,
                        expression=django.db.models.expressions.CombinedExpression(
                            models.F("open_sum"), "+", models.F("won_sum")
                        ),
                        output_field=models.DecimalField(decimal_places=6, max_digits=31),
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="accounts.account",
                    ),
                ),
                (
                    "post",
                    models.ForeignObject(
                        from_fields=["account_id", "post_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="revenues",
                        to="forum.post",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
            options={
                "default_related_name": "post_revenues",
                "indexes": [
                    models.Index(
                        fields=["account", "forum_id", "currency", "total", "post_id"], name="post_by_revenue"
                    ),
                    models.Index(
                        fields=["account", "forum_id", "currency", "clients", "post_id"], name="post_by_clients"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RevenueChange",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "number", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "number",
                    models.BigIntegerField(
                        db_default=models.Func(models.Value("workspace_revenuechange_numbers"), function="nextval"),
                        editable=False,
                    ),
                ),
                (
                    "kind",
                    models.TextField(
                        choices=[
                            ("post", "Post"),
                            ("user", "User"),
                            ("client", "Client"),
                            ("contact", "Contact"),
                            ("account", "Account"),
                        ]
                    ),
                ),
                ("row_id", models.BigIntegerField()),
                ("due_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "account",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="accounts.account",
                    ),
                ),
            ],
            options={
                "default_related_name": "revenue_changes",
                "indexes": [
                    models.Index(fields=["due_at"], name="revenue_change_due"),
                    models.Index(fields=["account", "due_at", "number"], name="revenue_change_of_account"),
                ],
            },
        ),
        composite_foreign_key("workspace_postrevenue", "post_id", "forum_post", on_delete="CASCADE"),
        composite_foreign_key("workspace_postrevenue", "forum_id", "forum_forum", on_delete="CASCADE"),
        *create_triggers(),
        *plan_for_large_accounts("workspace_postrevenue", "workspace_revenuechange"),
    ]
