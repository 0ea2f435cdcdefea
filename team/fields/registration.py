from django.utils.translation import gettext_lazy as _

from accounts.hosts.requests import is_admin
from core.pages.navigation import MenuEntry, register

register("settings", MenuEntry("fields", _("Fields"), "team-fields", "text-cursor-input", order=62, is_shown=is_admin))
