from django.utils.translation import gettext_lazy as _

from accounts.operator.pages import is_operator
from core.pages.navigation import MenuEntry, register

register(
    "user",
    MenuEntry("operator", _("Operator's console"), "accounts-operator", "server", order=35, is_shown=is_operator),
)
register(
    "operator",
    MenuEntry("accounts", _("Accounts"), "accounts-operator", "building-2", order=10),
    MenuEntry("plans", _("Plans"), "accounts-operator-plans", "layers", order=20),
    MenuEntry("jobs", _("Jobs"), "accounts-operator-jobs", "list-checks", order=30),
    MenuEntry("health", _("Health"), "accounts-operator-health", "activity", order=40),
)
