from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.hosts.requests import is_admin
from core.pages.navigation import MenuEntry, register

register(
    "settings",
    MenuEntry("statuses", _("Statuses"), "accounts-statuses", "list-checks", order=60, is_shown=is_admin),
    MenuEntry("pipelines", pgettext_lazy("menu", "Deals"), "accounts-deals", "handshake", order=61, is_shown=is_admin),
)
