from collections.abc import Callable

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.hosts.names import public_url
from core.changes.events import Values, urls
from core.pages.navigation import MenuEntry, register, register_panel
from team.menu.pages import CLIENT, is_team_of_site, new_entry
from team.records.pages.panels import render_user_panel

register_panel("user", render_user_panel)
register(
    "new",
    new_entry("client", _("Client"), "building-2", 1, in_dialog=True),
    new_entry("contact", _("Contact"), "user", 2, in_dialog=True, links=CLIENT),
    new_entry("deal", _("Deal"), "handshake", 3, in_dialog=True, links=CLIENT),
    MenuEntry(
        "suggestion",
        _("Suggestion on behalf of a customer"),
        "forum-post-new-on-behalf",
        "lightbulb",
        order=50,
        links={"client": "client", "contact": "contact"},
        is_shown=is_team_of_site,
    ),
)


def url_of(route: str) -> Callable[[Account, Values], str]:
    """Return a function for the URL of a page of the team, whose only parameter is the id."""
    return lambda account, row: public_url(account.prefix) + reverse(route, args=[row["id"]])


urls |= {
    key: url_of(f"team-{key.replace('_', '-')}")
    for key in ("client", "contact", "contact_list", "deal", "note", "message")
}
urls |= {key: url_of(f"accounts-{key}") for key in ("group", "pipeline", "status", "user")}
