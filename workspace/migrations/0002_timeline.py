import django.core.serializers.json
import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Func, Q, Value

import workspace.timeline
from core.db.tenancy import plan_for_large_accounts
from workspace.timeline_triggers import change_log, create_triggers

MIRRORED_KINDS = ("note", "call", "meeting", "email", "task", "task_done", "deal", "suggestion", "vote")
# The columns whose changes are logged.
CLIENT = (
    "name first_name last_name email phone mobile_phone fax www contact_id street street_no post_code city province country"
    " delivery_address use_delivery_address company shortcut kind tax_no register_number bank bank_account discount status_id"
    " responsible_id tags note description url origin consent do_not_contact additional_fields"
)
CONTACT = (
    "name first_name last_name email phone mobile_phone client_id position responsible_id tags note description consent"
    " do_not_contact additional_fields"
)
DEAL = (
    "name client_id contact_id price currency expected_close_date responsible_id won_reason lost_reason tags description url"
    " origin additional_fields"
)


class Migration(migrations.Migration):
    """The timeline and its triggers. The entries of existing rows follow in 0003."""

    dependencies = [
        ("accounts", "0029_pipelines"),
        ("crm", "0018_stages_by_time"),
        ("forum", "0024_task_fields"),
        ("workspace", "0001_calendar_feeds"),
    ]

    operations = [
        migrations.RunSQL(
            "CREATE SEQUENCE workspace_timelineentry_numbers CACHE 1",
            "DROP SEQUENCE workspace_timelineentry_numbers",
        ),
        migrations.CreateModel(
            name="TimelineEntry",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "number", blank=True, editable=False, primary_key=True, serialize=False
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
                    "number",
                    models.BigIntegerField(
                        db_default=Func(Value("workspace_timelineentry_numbers"), function="nextval"), editable=False
                    ),
                ),
                ("client_id", models.BigIntegerField(null=True)),
                ("contact_id", models.BigIntegerField(null=True)),
                ("deal_id", models.BigIntegerField(null=True)),
                ("at", models.DateTimeField()),
                ("kind", models.TextField()),
                ("resource", models.TextField()),
                ("resource_id", models.BigIntegerField()),
                ("user_id", models.BigIntegerField(null=True)),
                (
                    "data",
                    models.JSONField(
                        decoder=workspace.timeline.ExactDecoder,
                        default=dict,
                        encoder=django.core.serializers.json.DjangoJSONEncoder,
                    ),
                ),
            ],
            options={
                "default_related_name": "timeline_entries",
                "indexes": [
                    models.Index(
                        fields=["account", f"{link}_id", "at", "number"],
                        name=f"timeline_of_{link}",
                        condition=Q((f"{link}_id__isnull", False)),
                    )
                    for link in ("client", "contact", "deal")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "resource", "resource_id", "kind"),
                        name="timeline_of_row",
                        condition=Q(("kind__in", MIRRORED_KINDS)),
                    )
                ],
            },
        ),
        *create_triggers(),
        change_log("client", CLIENT.split()),
        change_log("contact", CONTACT.split()),
        change_log("deal", DEAL.split()),
        *plan_for_large_accounts("workspace_timelineentry"),
    ]
