"""The limits of what a member may do in a day.

A member of less than `NEW_MEMBER_AGE` may be a stranger who sends spam. The team is not limited, nor are members whom the team invited, added or
created, nor those with `Post.TRUSTED_TEXTS` texts that everyone has seen for an hour. Members who are older cost no statement.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from core.api.throttling import DAY, AnyRequest, enforce_limit
from core.db.rate_limits import hit, increment
from forum.models import Comment, ContentReport, Post, Vote

NEW_MEMBER_AGE = timedelta(hours=24)
# How long a text must have been public to speak for its author, so that the team or a report can stop spam before.
TRUST_DELAY = timedelta(hours=1)

MESSAGES_OF_NEW_MEMBERS: dict[type[Post | Comment | Vote], Any] = {
    Post: _("In the first 24 hours you can post {limit} suggestions. Try again tomorrow."),
    Comment: _("In the first 24 hours you can write {limit} comments. Try again tomorrow."),
    Vote: _("In the first 24 hours you can vote {limit} times. Try again tomorrow."),
}


def is_new_member(user: User) -> bool:
    """Return whether the user is a member of less than `NEW_MEMBER_AGE`."""
    return user.role == User.Role.MEMBER and user.created_at > timezone.now() - NEW_MEMBER_AGE


@contextmanager
def limit_new_member(request: AnyRequest, user: User, model: type[Post | Comment | Vote]) -> Iterator[None]:
    """Count the post, comment or vote that the block creates, unless it raises. Raise Throttled beyond the limit of the model."""
    if not settings.RATE_LIMIT or not is_new_member(user):
        yield
        return
    limit = model.MAX_PER_DAY_OF_NEW_MEMBER
    key = f"new-member-{model._meta.model_name}:{user.account_id}:{user.id}"
    status = hit(key, limit, DAY)
    if not status.allowed and not _is_trusted(user):
        enforce_limit(request, status, format_lazy(MESSAGES_OF_NEW_MEMBERS[model], limit=limit))
    try:
        yield
    except BaseException:
        increment(key, -1, DAY)
        raise


def count_report(request: AnyRequest, user: User) -> None:
    """Count a report. Raise Throttled beyond `ContentReport.MAX_PER_DAY`."""
    if settings.RATE_LIMIT:
        limit = ContentReport.MAX_PER_DAY
        message: Promise = format_lazy(_("You can send {limit} reports a day. Try again tomorrow."), limit=limit)
        enforce_limit(request, hit(f"reports:{user.account_id}:{user.id}", limit, DAY), message)


def _is_trusted(user: User) -> bool:
    if user.account.forum_members.confirmed().filter(user_id=user.id).exists():
        return True
    return Post.count_public_texts(user, before=timezone.now() - TRUST_DELAY) >= Post.TRUSTED_TEXTS
