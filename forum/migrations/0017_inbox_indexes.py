from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q

from core.db.backfill import fill_column
from core.db.tenancy import plan_for_large_accounts

LISTED = Q(trashed_at=None, category_id__isnull=False, duplicate_from_id=None)
INDEXES = (
    ("new", ("forum_id",), Q(handled_at=None) & LISTED),
    ("unanswered", ("forum_id",), Q(answered_at=None, response_user_id=None, closed=False, approved=True) & LISTED),
    ("mine", ("forum_id", "responsible_id"), Q(closed=False, responsible_id__isnull=False) & LISTED),
)
# The time of the first comment of the team on a post.
ANSWERED_AT = """
SELECT min(comment.created_at)
FROM forum_comment AS comment JOIN accounts_user AS author
    ON author.account_id = comment.account_id AND author.id = comment.user_id
WHERE comment.account_id = forum_post.account_id AND comment.post_id = forum_post.id
    AND author.role IN ('owner', 'admin', 'agent') AND NOT comment.internal
"""
OPEN_POSTS = "NOT closed AND category_id IS NOT NULL AND comments_cache > 0 AND answered_at IS NULL"


class Migration(migrations.Migration):
    # Other transactions can write while the indexes are built. If this migration is interrupted, drop its indexes before the next run.
    atomic = False
    dependencies = [("forum", "0016_comments_and_inbox")]

    operations = [
        fill_column("forum_post", "answered_at", ANSWERED_AT, condition=OPEN_POSTS),
        *(
            AddIndexConcurrently(
                "post",
                models.Index(
                    fields=["account", *columns, "created_at", "id"], name=f"post_inbox_{name}", condition=condition
                ),
            )
            for name, columns, condition in INDEXES
        ),
        *plan_for_large_accounts("forum_commentversion"),
    ]
