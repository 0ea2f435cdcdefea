from django.utils.translation import gettext_lazy as _

from core.pages.navigation import register
from team.menu.pages import main_entry

register("main", main_entry("reports", _("Reports"), 90, "g p"))
