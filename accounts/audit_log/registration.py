from django.utils.translation import gettext_lazy as _

from accounts.hosts.requests import is_owner
from core.pages.navigation import MenuEntry, register

register("settings", MenuEntry("audit", _("Audit log"), "accounts-audit", "scroll-text", order=68, is_shown=is_owner))
