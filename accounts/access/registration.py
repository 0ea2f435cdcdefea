from django.utils.translation import gettext_lazy as _

from accounts.hosts.requests import is_admin
from core.pages.navigation import MenuEntry, register

register("settings", MenuEntry("access", _("What agents see"), "accounts-access", "eye", order=35, is_shown=is_admin))
