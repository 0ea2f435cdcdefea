from django.utils.translation import gettext_lazy as _

from core.pages.navigation import MenuEntry, register
from team.menu.pages import GROUP, is_team_of_site

register(
    "main",
    MenuEntry("reports", _("Reports"), "team-reports", order=90, group=GROUP, is_shown=is_team_of_site, shortcut="g p"),
)
