from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q

TARGETS = ("client", "contact", "deal")


class Migration(migrations.Migration):
    """The indexes for the time of the last change of the posts of a client, a contact or a deal, and for its next task.

    Other transactions can write while the indexes are built. If this migration is interrupted, drop its indexes before the next run.
    """

    atomic = False
    dependencies = [("forum", "0025_mentions_in_notes")]

    operations = [
        *(
            AddIndexConcurrently(
                "post",
                models.Index(
                    fields=["account", f"{target}_id", "scheduled_at"],
                    name=f"task_of_{target}",
                    condition=Q(trashed_at=None, category_id=None, closed=False)
                    & Q(**{f"{target}_id__isnull": False, "scheduled_at__isnull": False}),
                ),
            )
            for target in TARGETS
        ),
        *(
            AddIndexConcurrently(
                "post",
                models.Index(
                    fields=["account", f"{target}_id", "updated_at"],
                    name=f"post_of_{target}_by_change",
                    condition=Q(**{"trashed_at": None, f"{target}_id__isnull": False}),
                ),
            )
            for target in TARGETS
        ),
    ]
