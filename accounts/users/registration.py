from django.utils.translation import gettext_lazy as _

from accounts.hosts.requests import is_admin
from core.pages.navigation import MenuEntry, register
from core.registry import newest_id, registry

registry.register_sample("users", "team_user", lambda request: newest_id(request.account.users.team()))
register("settings", MenuEntry("users", _("Users"), "accounts-users", "users", order=30, is_shown=is_admin))
