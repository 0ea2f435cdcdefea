from django.utils.translation import gettext_lazy as _

from accounts.audit import actions
from accounts.closing import deletion, health  # noqa: F401  # they register jobs, a receiver and a check
from accounts.hosts.requests import is_owner
from core.pages.navigation import MenuEntry, register

actions.register(
    "account",
    _("Account"),
    *("suspended", "restored", "deletion_asked", "kept", "plan_changed", "limits_changed", "viewed"),
    *("job_retried", "job_deleted"),
)
register(
    "settings",
    MenuEntry("closing", _("Delete the account"), "accounts-closing", "trash-2", order=99, is_shown=is_owner),
)
