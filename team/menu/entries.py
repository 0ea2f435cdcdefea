"""The menu entries of the team's pages, and the page at which the team of an account for the CRM starts."""

from typing import TYPE_CHECKING

from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.layout.navigation import is_admin, is_team
from core.http.requests import PageRequest
from core.pages.navigation import Entry, register
from core.pages.routes import register_start_page

if TYPE_CHECKING:
    from accounts.account.models import Account
    from accounts.users.models import User

GROUP = "crm"
# The parameter of forms that choose a client.
CLIENT = {"client": "client_id"}


def is_team_of_site(request: PageRequest) -> bool:
    return request.site is not None and is_team(request)


def start_page(account: "Account", user: "User") -> str | None:
    """Return the path of the clients for the team of an account that was created for the CRM."""
    return reverse("team-clients") if user.is_team and account.initial_module == GROUP else None


def register_entries() -> None:
    """Register the entries in `core.pages.navigation`."""
    register(
        "main",
        Entry(
            "clients",
            _("Clients"),
            "team-clients",
            order=50,
            group=GROUP,
            is_shown=is_team_of_site,
            shortcut="g c",
        ),
        Entry(
            "contacts",
            _("Contacts"),
            "team-contacts",
            order=60,
            group=GROUP,
            is_shown=is_team_of_site,
            shortcut="g o",
        ),
        Entry(
            "deals",
            pgettext_lazy("menu", "Deals"),
            "team-deals",
            order=70,
            group=GROUP,
            is_shown=is_team_of_site,
            shortcut="g d",
        ),
        Entry(
            "reports",
            _("Reports"),
            "team-reports",
            order=90,
            group=GROUP,
            is_shown=is_team_of_site,
            shortcut="g p",
        ),
    )
    register("settings", Entry("fields", _("Fields"), "team-fields", "text-cursor-input", order=62, is_shown=is_admin))
    register("search", Entry("find", _("Search everything"), "team-find", "search", is_shown=is_team_of_site))
    register(
        "new",
        *(
            Entry(name, label, route, icon, order=order, in_dialog=True, links=links, is_shown=is_team_of_site)
            for order, (name, label, route, icon, links) in enumerate(
                (
                    ("client", _("Client"), "team-client-new", "building-2", {}),
                    ("contact", _("Contact"), "team-contact-new", "user", CLIENT),
                    ("deal", _("Deal"), "team-deal-new", "handshake", CLIENT),
                ),
                start=1,
            )
        ),
        Entry(
            "suggestion",
            _("Suggestion on behalf of a customer"),
            "forum-post-new-on-behalf",
            "lightbulb",
            order=50,
            links={"client": "client", "contact": "contact"},
            is_shown=is_team_of_site,
        ),
    )
    register_start_page(start_page)
