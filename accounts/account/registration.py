from django.utils.translation import gettext_lazy as _

from accounts.hosts.requests import is_admin, is_team
from core.pages.navigation import MenuEntry, register

register(
    "user", MenuEntry("account", _("Account settings"), "accounts-account", "settings", order=30, is_shown=is_team)
)
register(
    "settings",
    MenuEntry("account", _("Account"), "accounts-account", "building-2", order=20, is_shown=is_admin),
    MenuEntry("rates", _("Exchange rates"), "accounts-rates", "arrow-left-right", order=25, is_shown=is_admin),
    MenuEntry("data", _("How long data are kept"), "accounts-data", "calendar-clock", order=69, is_shown=is_admin),
)
