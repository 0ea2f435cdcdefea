"""The menu entries of this app."""

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from core.http.requests import PageRequest
from core.pages.navigation import Entry, register


def is_admin(request: PageRequest) -> bool:
    return request.user is not None and request.user.is_admin


def is_team(request: PageRequest) -> bool:
    return request.user is not None and request.user.is_team


def register_entries() -> None:
    register(
        "user",
        Entry("profile", _("Profile"), "accounts-profile", "user", order=10),
        Entry("account", _("Account settings"), "accounts-account", "settings", order=30, is_shown=is_team),
        Entry("api", "API", "accounts-tokens", "code", order=40, is_shown=is_team),
    )
    register(
        "profile",
        Entry("profile", _("Profile"), "accounts-profile", "user", order=10),
        Entry("security", _("E-mail and password"), "accounts-security", "shield-check", order=20),
    )
    register(
        "settings",
        Entry("account", _("Account"), "accounts-account", "building-2", order=20, is_shown=is_admin),
        Entry("users", _("Users"), "accounts-users", "users", order=30, is_shown=is_admin),
        Entry("access", _("What agents see"), "accounts-access", "eye", order=35, is_shown=is_admin),
        Entry("statuses", _("Statuses"), "accounts-statuses", "list-checks", order=60, is_shown=is_admin),
        Entry("pipelines", pgettext_lazy("menu", "Deals"), "accounts-deals", "handshake", order=61, is_shown=is_admin),
        Entry("trash", _("Trash"), "accounts-trash", "trash-2", order=70, is_shown=is_admin),
        Entry("api", "API", "accounts-tokens", "code", order=90),
    )
