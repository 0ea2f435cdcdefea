"""Members whom the team blocks: their texts are taken back in one act, and can be restored.

Suggestions go to the trash, where housekeeping erases them after 30 days. Comments have no trash: they are withdrawn, which hides them
everywhere, and are erased with their posts only.
"""

from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from accounts.models import User
from forum.models import Comment, Post


@transaction.atomic(savepoint=False)
def block(member: User, *, by: User, takes_texts: bool) -> None:
    """Block a member, and take back their texts if asked. Raise PermissionDenied if `by` may not block the member."""
    member.block(by=by)
    if takes_texts:
        posts = _lock_posts(member, member.account.comments.filter(user_id=member.id))
        now = timezone.now()
        for post in posts:
            _move_comments(post, member, withdrawn_at=None, changed_to=now)
        for post in posts:
            if post.user_id == member.id and post.trashed_at is None:
                post.trash(by=by)


@transaction.atomic(savepoint=False)
def unblock(member: User, *, by: User) -> None:
    """Unblock a member, and restore the texts that `block` took back. Raise PermissionDenied or FieldError if that is not possible."""
    blocked_at = member.blocked_at
    member.unblock(by=by)
    comments: Any = member.account.comments(manager="with_withdrawn").filter(user_id=member.id)
    posts = _lock_posts(member, comments.exclude(withdrawn_at=None))
    for post in posts:
        if post.user_id == member.id and post.trashed_at is not None and blocked_at and post.trashed_at >= blocked_at:
            post.restore()
        _move_comments(post, member, withdrawn_at__isnull=False, changed_to=None)


def _lock_posts(member: User, comments: Any) -> list[Post]:
    """Lock the suggestions of a member and the posts with the comments, in the order of their ids."""
    own = Q(user_id=member.id, category_id__isnull=False)
    posts = member.account.posts.filter(own | Q(id__in=comments.order_by().values("post_id")))
    return list(posts.order_by("id").locked())


def _move_comments(post: Post, member: User, *, changed_to: Any, **filters: Any) -> None:
    """Withdraw the member's comments on a locked post, or restore them, and update the counts and the notifications."""
    rows: Any = member.account.comments(manager="with_withdrawn").filter(post_id=post.id, user_id=member.id, **filters)
    comments: list[Comment] = list(rows)
    if not comments:
        return
    public = [comment.id for comment in comments if comment.is_public]
    rows.update(withdrawn_at=changed_to)
    member.account.activities.filter(comment_id__in=public).update(internal=changed_to is not None)
    sign = 1 if changed_to is None else -1
    Post.objects.filter(pk=post.pk).update(
        comments_cache=F("comments_cache") + sign * len(public),
        internal_comments_cache=F("internal_comments_cache") + sign * (len(comments) - len(public)),
    )
