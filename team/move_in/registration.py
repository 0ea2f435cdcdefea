from django.utils.translation import gettext_lazy as _

from accounts.audit import actions as audit
from team.move_in import models  # noqa: F401  # its jobs are registered

audit.register("move_in", _("Move from an older server"), "started")
