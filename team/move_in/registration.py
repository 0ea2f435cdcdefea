from django.utils.translation import gettext_lazy as _

from accounts.audit import actions as audit
from accounts.hosts.requests import is_owner
from core.pages.navigation import MenuEntry, register
from team.move_in import models  # noqa: F401  # its jobs are registered

audit.register("move_in", _("Move from another service"), "started", "cancelled")
register("settings", MenuEntry("move-in", _("Move in"), "team-move-in", "download", order=67, is_shown=is_owner))
