from typing import cast

from django.utils.translation import gettext_lazy as _

from accounts.hosts.requests import PageRequest, is_team
from core.pages.navigation import MenuEntry, register
from forum.forums.models import Forum
from forum.forums.requests import has_forum
from forum.inbox import tabs


def is_team_of_forum(request: PageRequest) -> bool:
    return has_forum(request) and is_team(request)


def count_new(request: PageRequest) -> int:
    """Return the number of new suggestions in the team's inbox. The page of the inbox stores the number in the request."""
    forum = cast(Forum, request.site)
    number: int | None = getattr(request, "new_in_inbox", None)
    return tabs.count_new(forum.account_id, forum.id) if number is None else number


register(
    "main",
    MenuEntry("inbox", _("Inbox"), "forum-inbox", order=30, is_shown=is_team_of_forum, count=count_new, shortcut="g i"),
)
