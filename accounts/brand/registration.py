from django.utils.translation import gettext_lazy as _

from accounts.audit.actions import CRUD
from accounts.audit.actions import register as register_actions
from accounts.hosts.requests import is_admin
from core.pages.navigation import MenuEntry, register

register_actions("branding", _("Brand"), *CRUD)
register("settings", MenuEntry("brand", _("Brand"), "accounts-brand", "palette", order=21, is_shown=is_admin))
