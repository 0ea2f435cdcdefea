from django.utils.translation import gettext_lazy as _

from accounts.audit import actions as audit
from team.mailings import sending  # noqa: F401, registers its jobs
from team.timeline.models import register_kind

audit.register("message", _("Message to customers"), "sent", "cancelled")
register_kind("message", _("Message sent"), "megaphone", "suggestions")
register_kind("unsubscribed", _("Unsubscribed from messages"), "bell-off", "changes")
