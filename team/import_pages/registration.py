from django.utils.translation import gettext_lazy as _

from core.pages.navigation import MenuEntry, register, register_panel
from team.import_pages.pages import render_suggestions_link
from team.menu.pages import is_team_of_site

register("new", MenuEntry("imports", _("Import"), "team-imports", "upload", order=90, is_shown=is_team_of_site))
# On the page of a new account.
register("first-steps", MenuEntry("imports", _("Import a file"), "team-imports", "upload", is_shown=is_team_of_site))
register_panel("suggestions", render_suggestions_link)
