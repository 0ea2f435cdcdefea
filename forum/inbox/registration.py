from typing import Any

from django.db.models import Model, QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.hosts.requests import PageRequest, is_team
from core.pages.navigation import MenuEntry, register
from forum.forums.requests import has_forum
from forum.inbox import tabs


def is_team_of_forum(request: PageRequest) -> bool:
    return has_forum(request) and is_team(request)


def new_suggestions(request: PageRequest) -> int | QuerySet[Model, Any]:
    """Return the new suggestions in the team's inbox, or their number, which the page of the inbox stores in the request."""
    number: int | None = getattr(request, "new_in_inbox", None)
    return tabs.new_posts(request.account) if number is None else number


register(
    "main",
    MenuEntry(
        "inbox", _("Inbox"), "forum-inbox", order=30, is_shown=is_team_of_forum, count=new_suggestions, shortcut="g i"
    ),
)
