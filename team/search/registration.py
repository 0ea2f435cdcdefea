from django.utils.translation import gettext_lazy as _

from core.pages.navigation import MenuEntry, register
from team.menu.pages import is_team_of_site

register("search", MenuEntry("find", _("Search everything"), "team-find", "search", is_shown=is_team_of_site))
