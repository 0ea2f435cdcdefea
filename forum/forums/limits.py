"""The limits of what a member may do in a day.

A member of less than `NEW_MEMBER_AGE` may be a stranger who sends spam. The team is not limited, nor are members whom the team invited, added or
created, nor those with `TRUSTED_TEXTS` texts that everyone has seen for an hour. Members who are older cost no statement.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.conf import settings
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.users.models import User
from core.http.throttling import DAY, AnyRequest, enforce_limit
from core.limits.rate_limits import hit, increment
from forum.forums.membership import TRUSTED_TEXTS, count_public_texts

NEW_MEMBER_AGE = timedelta(hours=24)
# How long a text must have been public to speak for its author, so that the team or a report can stop spam before.
TRUST_DELAY = timedelta(hours=1)


# The posts, comments and votes that a new member may write in 24 hours, each with the message to one who has written more.
LIMITS_OF_NEW_MEMBER = {
    "post": (5, _("In the first 24 hours you can post {limit} suggestions. Try again tomorrow.")),
    "comment": (20, _("In the first 24 hours you can write {limit} comments. Try again tomorrow.")),
    "vote": (60, _("In the first 24 hours you can vote {limit} times. Try again tomorrow.")),
}


def is_new_member(user: User) -> bool:
    """Return whether the user is a member of less than `NEW_MEMBER_AGE`."""
    return user.role == User.Role.MEMBER and user.created_at > timezone.now() - NEW_MEMBER_AGE


@contextmanager
def limit_new_member(request: AnyRequest, user: User, kind: str) -> Iterator[None]:
    """Count the row that the block creates, unless it raises. Raise Throttled beyond the limit of the kind."""
    if not settings.RATE_LIMIT or not is_new_member(user):
        yield
        return
    limit, message = LIMITS_OF_NEW_MEMBER[kind]
    key = f"new-member-{kind}:{user.account_id}:{user.id}"
    status = hit(key, limit, DAY)
    if not status.allowed and not _is_trusted(user):
        enforce_limit(request, status, format_lazy(message, limit=limit))
    try:
        yield
    except BaseException:
        increment(key, -1, DAY)
        raise


def _is_trusted(user: User) -> bool:
    if user.account.forum_members.confirmed().filter(user_id=user.id).exists():
        return True
    return count_public_texts(user, before=timezone.now() - TRUST_DELAY) >= TRUSTED_TEXTS
