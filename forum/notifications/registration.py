from typing import cast

from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.hosts.requests import PageRequest
from accounts.users.models import User, user_joined
from core.api.serializers import format_time
from core.changes.events import EventSubject, Values, record_event, register_subject
from core.changes.events import register as register_event
from core.changes.followers import register_follower
from core.pages.navigation import MenuEntry, register
from core.registry import newest_id, registry
from forum.activities.models import Activity
from forum.forums.models import Forum
from forum.forums.requests import has_forum
from forum.notifications import emails  # noqa: F401, registers its jobs
from forum.notifications.follower import NotificationFollower
from forum.notifications.recipients import notify

# The header shows no higher number of unread notifications for an account with forums that not everyone may read.
MAX_COUNTED = 1000


def count_unread(request: PageRequest) -> int:
    """Return the number of unread notifications that the user may see.

    The stored number includes those of forums that a member has left. They are counted only if the account has forums to leave.
    """
    user, forum = request.user, cast(Forum, request.site)
    if user is None or user.is_team or not user.unread_notifications or not forum.has_closed_forums:
        return user.unread_notifications if user is not None else 0
    return request.account.notifications.shown_to(user).unread().order_by()[:MAX_COUNTED].count()


register(
    "header",
    MenuEntry(
        "notifications", _("Notifications"), "forum-notifications", "bell", is_shown=has_forum, count=count_unread
    ),
)
register_follower(NotificationFollower())
registry.register_sample(
    "notifications", "notification", lambda request: newest_id(request.account.notifications.shown_to(request.user))
)


def read_user(account: Account, id: int, data: Values) -> dict[str, object] | None:
    user = account.users.filter(id=id).first()
    if user is None:
        return None
    return {"id": id, "name": user.name, "role": user.role, "created_at": format_time(user.created_at, account.zone)}


register_subject("user", EventSubject(_("User"), read_user))
register_event("user", "signed_up", _("signed up"))


@receiver(user_joined)
def announce_sign_up(*, user: User, **_options: object) -> None:
    """Notify the team of a new user. The change feed has no users, so its follower cannot do this."""
    record_event(user, "user.signed_up", actor=user)
    activity = user.account.activities.create(kind=Activity.Kind.SIGN_UP, user_id=user.id, announced=True)
    notify(activity, None, user.account)
