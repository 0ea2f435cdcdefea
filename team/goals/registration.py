from django.utils.translation import gettext_lazy as _

from accounts.audit import actions as audit
from accounts.erasure.personal_data import register as register_personal_data
from accounts.hosts.requests import is_admin
from core.pages.navigation import MenuEntry, register

audit.register("goal", _("Goal"), *audit.CRUD)
register("settings", MenuEntry("goals", _("Goals"), "team-goals", "target", order=62, is_shown=is_admin))
register_personal_data("goals", _("Goals"), lambda user: user.account.goals.filter(user_id=user.id))
