from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q

from core.db.tenancy import online_foreign_key

OF_FORUM = {"trashed_at": None, "category_id__isnull": False}


def index(model: str, name: str, *fields: str, **condition) -> AddIndexConcurrently:
    return AddIndexConcurrently(
        model,
        models.Index(fields=["account", *fields], name=name, condition=Q(**condition) if condition else None),
    )


class Migration(migrations.Migration):
    """Beside the work of the service, so not in one transaction. If it is broken off, drop what it made before it runs again."""

    atomic = False
    dependencies = [("forum", "0008_people")]

    operations = [
        index("comment", "comment_from_post", "from_post_id", from_post_id__isnull=False),
        index("vote", "vote_of_user", "user_id", "created_at", "post_id"),
        index("vote", "vote_from_post", "from_post_id", from_post_id__isnull=False),
        index("post", "post_of_contact", "contact_id", "id", contact_id__isnull=False),
        index("post", "post_of_trashed_contact", "trashed_contact_id", trashed_contact_id__isnull=False),
        index("post", "post_by_author", "user_id", "created_at", "id", **OF_FORUM),
        index("post", "post_waiting", "forum_id", "created_at", "id", approved=False, **OF_FORUM),
        index("post", "post_of_roadmap", "forum_id", "status_id", "votes_cache", "id", shelf=1),
        index(
            "post",
            "post_by_status_before_merge",
            "status_before_merge_id",
            "id",
            status_before_merge_id__isnull=False,
        ),
        *(
            operation
            for table, column, target in (
                ("forum_comment", "from_post_id", "forum_post"),
                ("forum_vote", "from_post_id", "forum_post"),
                ("forum_post", "contact_id", "crm_contact"),
                ("forum_post", "trashed_contact_id", "crm_contact"),
                ("forum_post", "status_before_merge_id", "accounts_status"),
            )
            for operation in online_foreign_key(table, column, target, on_delete="SET NULL")
        ),
    ]
