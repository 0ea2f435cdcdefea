from django.utils.translation import gettext_lazy as _

from accounts.audit import actions
from accounts.hosts.requests import is_owner
from core.pages.navigation import MenuEntry, register

actions.register("shop_sign_in", _("Sign-in from a shop"), *actions.CRUD)
register(
    "settings",
    MenuEntry("shop-sign-in", _("Sign-in from a shop"), "accounts-shop-sign-in", "store", order=35, is_shown=is_owner),
)
