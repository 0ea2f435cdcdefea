from django.utils.translation import gettext_lazy as _

from accounts.hosts.requests import is_admin
from core.pages.navigation import MenuEntry, register

register("settings", MenuEntry("trash", _("Trash"), "accounts-trash", "trash-2", order=70, is_shown=is_admin))
