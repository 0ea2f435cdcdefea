"""Members whom the team blocks: their texts are withdrawn in one act, and can be restored.

Suggestions go to the trash, where housekeeping erases them after 30 days. Comments have no trash: they are withdrawn, which hides them
everywhere, and are erased with their posts only. Both have the time of the block as their mark, so that unblocking restores nothing else. The
votes of a blocked member stay.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from accounts.audit.origin import current_origin
from accounts.users.models import User
from core.changes.events import insert_events
from core.db.transactions import in_transaction
from core.jobs.registry import RetryDelays, job
from forum.posts.models import Post

# When the texts are withdrawn again: a request that began before the block may still write.
LATE_TEXTS_DELAY = timedelta(minutes=2)

# Withdraw the member's comments on locked posts, or restore them if the time is null, and update the counts and the activities.
EVENTS = insert_events("""
    SELECT account_id, 'comment', id, CASE WHEN %(withdrawn_at)s::timestamptz IS NULL THEN 'restored' ELSE 'deleted' END, %(by)s::bigint,
        jsonb_build_object('before', NULL, 'after', NULL, 'post_id', post_id)
    FROM moved ORDER BY id
""")
MOVE_COMMENTS = f"""
WITH moved AS (
    UPDATE forum_comment SET withdrawn_at = %(withdrawn_at)s
    WHERE account_id = %(account)s AND user_id = %(user)s AND post_id = ANY(%(posts)s) AND deleted_at IS NULL
        AND (withdrawn_at IS NULL) = (%(withdrawn_at)s::timestamptz IS NOT NULL)
    RETURNING account_id, id, post_id, approved AND NOT internal AS is_public
), number AS (
    SELECT account_id, post_id, %(sign)s * count(*) FILTER (WHERE is_public) AS public,
        %(sign)s * count(*) FILTER (WHERE NOT is_public) AS others
    FROM moved GROUP BY account_id, post_id
), event AS ({EVENTS}), counted AS (
    UPDATE forum_post AS post SET comments_cache = comments_cache + public, internal_comments_cache = internal_comments_cache + others
    FROM number WHERE post.account_id = number.account_id AND post.id = number.post_id
)
UPDATE forum_activity AS activity SET internal = %(withdrawn_at)s::timestamptz IS NOT NULL
FROM moved WHERE activity.account_id = moved.account_id AND activity.comment_id = moved.id AND is_public
"""  # noqa: S608


@transaction.atomic(savepoint=False)
def block(member: User, *, by: User, takes_texts: bool) -> None:
    """Block a member, and withdraw their texts if asked. Raise PermissionDenied if `by` may not block the member."""
    member.block(by=by)
    if takes_texts and member.blocked_at is not None:
        _withdraw(member, by)
        withdraw_late_texts.defer(
            account_id=member.account_id,
            user_id=member.id,
            by_id=by.id,
            blocked_at=member.blocked_at.isoformat(),
            _schedule_at=timezone.now() + LATE_TEXTS_DELAY,
        )


@job(time_limit=60, retry=RetryDelays(60, 600))
def withdraw_late_texts(*, account_id: int, user_id: int, by_id: int, blocked_at: str) -> None:
    """Withdraw the texts that requests which were in progress wrote after the block, unless the block has ended."""

    def act() -> None:
        users = User.objects.select_related("account").filter(account_id=account_id)
        member = users.filter(id=user_id).select_for_update(no_key=True, of=("self",)).first()
        if member is not None and member.blocked_at == datetime.fromisoformat(blocked_at):
            _withdraw(member, users.get(id=by_id))

    in_transaction(act)


def restore_texts(sender: type, user: User, blocked_at: datetime, **kwargs: object) -> None:
    """Restore the texts that were withdrawn, when a block ends (`block_ended`)."""
    comments = user.account.comments(manager="with_withdrawn").filter(user_id=user.id)
    post_ids = _lock_posts(user, comments.exclude(withdrawn_at=None))
    Post.restore_all(list(user.account.posts.filter(user_id=user.id, trashed_at=blocked_at).order_by("id")))
    _move_comments(user, post_ids, withdrawn_at=None, by=current_origin().user)


def _withdraw(member: User, by: User) -> None:
    post_ids = _lock_posts(member, member.account.comments.filter(user_id=member.id))
    _move_comments(member, post_ids, withdrawn_at=member.blocked_at, by=by)
    account = member.account
    activities = account.activities.filter(comment__withdrawn_at=member.blocked_at, user_id=member.id)
    # Cancels their e-mails, too. The bell counts only unread ones.
    account.notifications.filter(activity_id__in=activities.values("id")).mark_read()
    posts = account.posts.live().filter(user_id=member.id, category_id__isnull=False).order_by("id")
    Post.trash_all(list(posts), by=by, at=member.blocked_at)


def _lock_posts(member: User, comments: Any) -> list[int]:
    """Lock the suggestions of a member and the posts with the comments, in the order of their ids. Return the ids."""
    own = Q(user_id=member.id, category_id__isnull=False)
    posts = member.account.posts.filter(own | Q(id__in=comments.order_by().values("post_id")))
    return list(posts.order_by("id").locked().values_list("id", flat=True))


def _move_comments(member: User, post_ids: list[int], *, withdrawn_at: datetime | None, by: Any) -> None:
    values: dict[str, Any] = {"account": member.account_id, "user": member.id, "posts": post_ids}
    values |= {"withdrawn_at": withdrawn_at, "sign": 1 if withdrawn_at is None else -1, "by": by and by.id}
    with connection.cursor() as cursor:
        cursor.execute(MOVE_COMMENTS, values)
