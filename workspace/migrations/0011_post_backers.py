import django.db.models.deletion
from django.db import migrations, models

from core.db.tenancy import composite_foreign_key, plan_for_large_accounts
from workspace.post_revenue_triggers import QUEUE_STORED


class Migration(migrations.Migration):
    """The stored clients behind suggestions. A job stores the clients of existing suggestions."""

    dependencies = [
        ("accounts", "0030_confirms_user_links"),
        ("crm", "0021_further_external_ids"),
        ("forum", "0025_mentions_in_notes"),
        ("workspace", "0010_messages"),
    ]

    operations = [
        migrations.CreateModel(
            name="PostBacker",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "post_id",
                        "client_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("post_id", models.BigIntegerField()),
                ("client_id", models.BigIntegerField()),
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
                    "client",
                    models.ForeignObject(
                        from_fields=["account_id", "client_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="crm.client",
                        to_fields=["account_id", "id"],
                    ),
                ),
                (
                    "post",
                    models.ForeignObject(
                        from_fields=["account_id", "post_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="backers",
                        to="forum.post",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
            options={
                "default_related_name": "post_backers",
                "indexes": [models.Index(fields=["account", "client_id", "post_id"], name="post_backer_by_client")],
            },
        ),
        composite_foreign_key("workspace_postbacker", "post_id", "forum_post", on_delete="CASCADE"),
        composite_foreign_key("workspace_postbacker", "client_id", "crm_client", on_delete="CASCADE"),
        migrations.RunSQL(QUEUE_STORED, migrations.RunSQL.noop),
        *plan_for_large_accounts("workspace_postbacker"),
    ]
