"""The limits of what a member may do in a day.

A member of less than `NEW_MEMBER_AGE` may be a stranger who sends spam. The team is not limited, nor are members whom the team invited, added or
created, nor those with `TRUSTED_TEXTS` texts that everyone has seen for an hour. Members who are older cost no statement.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Protocol

from django.conf import settings
from django.utils import timezone
from django.utils.text import format_lazy

from accounts.users.models import User
from core.http.throttling import DAY, AnyRequest, enforce_limit
from core.limits.rate_limits import hit, increment
from forum.forums.trust import TRUSTED_TEXTS, count_public_texts

NEW_MEMBER_AGE = timedelta(hours=24)
# How long a text must have been public to speak for its author, so that the team or a report can stop spam before.
TRUST_DELAY = timedelta(hours=1)


class LimitedModel(Protocol):
    """The attributes of the models that new members write a limited number of."""

    # The rows that a new member may write in 24 hours, and the message to one who has written more.
    MAX_PER_DAY_OF_NEW_MEMBER: int
    MESSAGE_TO_NEW_MEMBER: Any


def is_new_member(user: User) -> bool:
    """Return whether the user is a member of less than `NEW_MEMBER_AGE`."""
    return user.role == User.Role.MEMBER and user.created_at > timezone.now() - NEW_MEMBER_AGE


@contextmanager
def limit_new_member(request: AnyRequest, user: User, model: type[LimitedModel]) -> Iterator[None]:
    """Count the post, comment or vote that the block creates, unless it raises. Raise Throttled beyond the limit of the model."""
    if not settings.RATE_LIMIT or not is_new_member(user):
        yield
        return
    limit = model.MAX_PER_DAY_OF_NEW_MEMBER
    key = f"new-member-{model.__name__.lower()}:{user.account_id}:{user.id}"
    status = hit(key, limit, DAY)
    if not status.allowed and not _is_trusted(user):
        enforce_limit(request, status, format_lazy(model.MESSAGE_TO_NEW_MEMBER, limit=limit))
    try:
        yield
    except BaseException:
        increment(key, -1, DAY)
        raise


def _is_trusted(user: User) -> bool:
    if user.account.forum_members.confirmed().filter(user_id=user.id).exists():
        return True
    return count_public_texts(user, before=timezone.now() - TRUST_DELAY) >= TRUSTED_TEXTS
