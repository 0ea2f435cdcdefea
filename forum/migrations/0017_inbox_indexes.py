from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q

from core.db.tenancy import plan_for_large_accounts

LISTED = Q(trashed_at=None, category_id__isnull=False, duplicate_from_id=None)
INDEXES = (
    ("new", ("forum_id",), Q(handled_at=None) & LISTED),
    ("unanswered", ("forum_id",), Q(answered_at=None, response_user_id=None, closed=False, approved=True) & LISTED),
    ("mine", ("forum_id", "responsible_id"), Q(closed=False, responsible_id__isnull=False) & LISTED),
)
# The open posts on which the team has commented.
ANSWERED = """
UPDATE forum_post SET answered_at = answer.at
FROM (
    SELECT comment.post_id, min(comment.created_at) AS at
    FROM forum_comment AS comment JOIN accounts_user AS author
        ON author.account_id = comment.account_id AND author.id = comment.user_id
    WHERE comment.account_id = %(account)s AND author.role IN ('owner', 'admin', 'agent') AND NOT comment.internal
    GROUP BY comment.post_id
) AS answer
WHERE account_id = %(account)s AND id = answer.post_id AND NOT closed AND category_id IS NOT NULL AND answered_at IS NULL
"""


def fill_answered_at(apps: Any, schema_editor: Any) -> None:
    """Set `answered_at` of the existing posts, in one transaction for each account."""
    for account_id in apps.get_model("accounts", "Account").objects.values_list("id", flat=True):
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(ANSWERED, {"account": account_id})


class Migration(migrations.Migration):
    """Beside the work of the service, so not in one transaction. If it is broken off, drop what it made before it runs again."""

    atomic = False
    dependencies = [("forum", "0016_comments_and_inbox")]

    operations = [
        migrations.RunPython(fill_answered_at, migrations.RunPython.noop),
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
