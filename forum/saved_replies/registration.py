from django.utils.translation import gettext_lazy as _

from accounts.audit import actions as audit
from accounts.hosts.requests import is_admin
from core.pages.navigation import MenuEntry, register

audit.register("saved_reply", _("Saved reply"), *audit.CRUD)
register(
    "settings",
    MenuEntry(
        "saved-replies",
        _("Saved replies"),
        "forum-settings-saved-replies",
        "message-square",
        order=55,
        is_shown=is_admin,
    ),
)
