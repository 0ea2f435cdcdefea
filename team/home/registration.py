from django.conf import settings
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.audit import actions as audit
from core.pages.navigation import MenuEntry, register, register_start_page
from team.menu.pages import is_team_of_site

HOME = pgettext_lazy("menu", "Home")

audit.register("examples", _("Examples"), "created", "deleted")
register("main", MenuEntry("home", HOME, "team-home", order=5, shortcut="g h", is_shown=is_team_of_site))
register_start_page("home", HOME, "team-home")
register_start_page("suggestions", _("Suggestions"), settings.HOME_URL)
register_start_page("inbox", _("Inbox"), "forum-inbox")
register_start_page("clients", _("Clients"), "team-clients")
register_start_page("contacts", _("Contacts"), "team-contacts")
register_start_page("deals", pgettext_lazy("menu", "Deals"), "team-deals")
register_start_page("board", _("Board of the deals"), "team-board")
register_start_page("tasks", _("Tasks"), "team-tasks")
