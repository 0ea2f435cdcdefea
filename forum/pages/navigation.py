"""The menu entries of the forum's pages."""

from typing import cast

from django.utils.translation import gettext_lazy as _

from accounts.layout.navigation import is_admin, is_team
from core.http.requests import PageRequest
from core.pages.navigation import Entry, register
from forum.forums.models import Forum
from forum.inbox import tabs as inbox

# The header shows no higher number of unread notifications for an account with forums that not everyone may read.
MAX_COUNTED = 1000


def has_forum(request: PageRequest) -> bool:
    return request.site is not None


def is_team_of_forum(request: PageRequest) -> bool:
    return has_forum(request) and is_team(request)


def count_new(request: PageRequest) -> int:
    """Return the number of new suggestions in the team's inbox. The page of the inbox stores the number in the request."""
    forum = cast(Forum, request.site)
    number: int | None = getattr(request, "new_in_inbox", None)
    return inbox.count_new(forum.account_id, forum.id) if number is None else number


def unread_notifications(request: PageRequest) -> int:
    """Return the number of unread notifications that the user may see.

    The stored number includes those of forums that a member has left. They are counted only if the account has forums to leave.
    """
    user, forum = request.user, cast(Forum, request.site)
    if user is None or user.is_team or not user.unread_notifications or not forum.has_closed_forums:
        return user.unread_notifications if user is not None else 0
    return request.account.notifications.shown_to(user).unread().order_by()[:MAX_COUNTED].count()


def register_entries() -> None:
    register(
        "header",
        Entry(
            "notifications",
            _("Notifications"),
            "forum-notifications",
            "bell",
            is_shown=has_forum,
            count=unread_notifications,
        ),
    )
    register(
        "main",
        Entry("suggestions", _("Suggestions"), "forum-suggestions", order=10, is_shown=has_forum, shortcut="g s"),
        Entry("roadmap", _("Roadmap"), "forum-roadmap", order=20, is_shown=has_forum),
        Entry("inbox", _("Inbox"), "forum-inbox", order=30, is_shown=is_team_of_forum, count=count_new, shortcut="g i"),
    )
    own_posts = Entry("posts", _("My suggestions and votes"), "forum-own-posts", "lightbulb", order=20)
    register("user", own_posts)
    register("profile", own_posts)
    register(
        "settings",
        Entry("forums", _("Forums"), "forum-settings-forums", "megaphone", order=40, is_shown=is_admin),
        Entry("categories", _("Categories"), "forum-settings-categories", "folder", order=50, is_shown=is_admin),
    )
