import django.db.models.deletion
from django.db import migrations, models

import core.db.triggers
from core.db.tenancy import plan_for_large_accounts
from crm.stages import COUNTER, create_stage_triggers

ACCOUNT = {"db_constraint": False, "db_index": False, "on_delete": django.db.models.deletion.CASCADE}


class Migration(migrations.Migration):
    """The stages of deals, and the numbers and sums of the deals in each status. The stages of existing deals follow in 0015."""

    dependencies = [("accounts", "0029_pipelines"), ("crm", "0013_search_external_ids_of_contacts")]

    operations = [
        migrations.AddField("deal", "contact_id", models.BigIntegerField(null=True)),
        migrations.AddField("deal", "trashed_contact_id", models.BigIntegerField(editable=False, null=True)),
        migrations.AddField("deal", "won_reason", models.CharField(blank=True, max_length=255, null=True)),
        migrations.AddField("deal", "lost_reason", models.CharField(blank=True, max_length=255, null=True)),
        migrations.AddField("deal", "closed_at", core.db.triggers.TriggerDateTimeField(editable=False, null=True)),
        migrations.AddField(
            "deal", "stage_entered_at", core.db.triggers.TriggerDateTimeField(editable=False, null=True)
        ),
        migrations.AddField(
            "deal", "board_position", core.db.triggers.TriggerBigIntegerField(editable=False, null=True)
        ),
        migrations.CreateModel(
            name="DealStage",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "deal_id",
                        "number",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("account", models.ForeignKey(to="accounts.account", **ACCOUNT)),
                ("deal_id", models.BigIntegerField()),
                ("number", models.BigIntegerField()),
                ("status_id", models.BigIntegerField(null=True)),
                ("entered_at", models.DateTimeField()),
                ("left_at", models.DateTimeField(null=True)),
                ("user_id", models.BigIntegerField()),
            ],
            options={"default_related_name": "deal_stages"},
        ),
        migrations.CreateModel(
            name="DealCount",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "status_id",
                        "currency",
                        "responsible_id",
                        "number",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("account", models.ForeignKey(related_name="+", to="accounts.account", **ACCOUNT)),
                ("number", models.BigIntegerField()),
                ("status_id", models.BigIntegerField()),
                ("currency", models.TextField()),
                ("responsible_id", models.BigIntegerField()),
                ("deals", models.IntegerField()),
                ("price", models.DecimalField(decimal_places=6, max_digits=30)),
            ],
        ),
        create_stage_triggers(),
        COUNTER.create(),
        migrations.RunSQL(COUNTER.count_all, migrations.RunSQL.noop),
        *plan_for_large_accounts("crm_dealstage", "crm_dealcount"),
    ]
