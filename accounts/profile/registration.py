from django.utils.translation import gettext_lazy as _

from core.pages.navigation import MenuEntry, register

profile = MenuEntry("profile", _("Profile"), "accounts-profile", "user", order=10)
register("user", profile)
register(
    "profile", profile, MenuEntry("security", _("E-mail and password"), "accounts-security", "shield-check", order=20)
)
