from django.utils.translation import gettext_lazy as _

from core.pages import panels
from core.pages.navigation import MenuEntry, register
from team.menu.pages import CLIENT, is_team_of_site
from team.records.pages.panels import render_user_panel

panels.register("user", render_user_panel)
register(
    "new",
    *(
        MenuEntry(name, label, route, icon, order=order, in_dialog=True, links=links, is_shown=is_team_of_site)
        for order, (name, label, route, icon, links) in enumerate(
            (
                ("client", _("Client"), "team-client-new", "building-2", {}),
                ("contact", _("Contact"), "team-contact-new", "user", CLIENT),
                ("deal", _("Deal"), "team-deal-new", "handshake", CLIENT),
            ),
            start=1,
        )
    ),
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
