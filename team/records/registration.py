from django.utils.translation import gettext_lazy as _

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
