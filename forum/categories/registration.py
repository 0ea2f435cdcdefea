from django.utils.translation import gettext_lazy as _

from accounts.hosts.requests import is_admin
from core.pages.navigation import MenuEntry, register

register(
    "settings",
    MenuEntry("categories", _("Categories"), "forum-settings-categories", "folder", order=50, is_shown=is_admin),
)
