from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models import Q
from django.db.models.functions import Coalesce

from core.db.backfill import fill_column
from core.db.tenancy import online_foreign_key
from forum.tasks import completion_trigger

TASK = {"trashed_at": None, "category_id": None}
OPEN_TASK = {**TASK, "closed": False}


def index(name: str, *fields: str, condition: Q) -> AddIndexConcurrently:
    return AddIndexConcurrently("post", models.Index(fields=["account", *fields], name=name, condition=condition))


class Migration(migrations.Migration):
    """The deal of a task, the time of its reminder, and the time when it was closed.

    Other transactions can write meanwhile. If this migration is interrupted, drop what it created before the next run.
    """

    atomic = False
    dependencies = [("forum", "0023_counters"), ("crm", "0010_declare_search")]

    operations = [
        migrations.AddField("post", "deal_id", models.BigIntegerField(null=True)),
        migrations.AddField("post", "trashed_deal_id", models.BigIntegerField(editable=False, null=True)),
        migrations.AddField("post", "remind_at", models.DateTimeField(null=True)),
        migrations.AddField("post", "completed_at", models.DateTimeField(editable=False, null=True)),
        completion_trigger(),
        # The time of the last change is the best estimate for a task that was closed before.
        fill_column("forum_post", "completed_at", "updated_at", condition="category_id IS NULL AND closed"),
        index("task_by_schedule", "scheduled_at", "id", condition=Q(**TASK)),
        index("task_by_completion", "completed_at", "id", condition=Q(**TASK)),
        index("task_open", "scheduled_at", "id", condition=Q(**OPEN_TASK)),
        index(
            "task_of_responsible",
            "responsible_id",
            "scheduled_at",
            "id",
            condition=Q(**OPEN_TASK) & Q(responsible_id__isnull=False),
        ),
        index(
            "task_done_by_responsible",
            "responsible_id",
            "completed_at",
            "id",
            condition=Q(**TASK) & Q(closed=True, responsible_id__isnull=False),
        ),
        AddIndexConcurrently(
            "post",
            models.Index(
                Coalesce("remind_at", "scheduled_at"),
                name="task_reminder_time",
                condition=Q(**OPEN_TASK)
                & Q(responsible_id__isnull=False)
                & (Q(remind_at__isnull=False) | Q(scheduled_at__isnull=False)),
            ),
        ),
        RemoveIndexConcurrently("post", "task_by_time"),
        RemoveIndexConcurrently("post", "task_reminder"),
        index("post_of_deal", "deal_id", "id", condition=Q(deal_id__isnull=False)),
        index("post_of_trashed_deal", "trashed_deal_id", condition=Q(trashed_deal_id__isnull=False)),
        *online_foreign_key("forum_post", "deal_id", "crm_deal", on_delete="SET NULL"),
        *online_foreign_key("forum_post", "trashed_deal_id", "crm_deal", on_delete="SET NULL"),
    ]
