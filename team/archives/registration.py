from django.utils.translation import gettext_lazy as _

from accounts.hosts.requests import is_owner
from core.pages.navigation import MenuEntry, register
from team.archives import exporting  # noqa: F401  # its kind of exports is registered

register("settings", MenuEntry("archive", _("Archive"), "team-archive", "archive", order=66, is_shown=is_owner))
