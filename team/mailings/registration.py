from django.utils.translation import gettext_lazy as _

from team.mailings import sending  # noqa: F401, registers its jobs
from team.timeline.models import register_kind

register_kind("message", _("Message sent"), "megaphone", "suggestions")
register_kind("unsubscribed", _("Unsubscribed from messages"), "bell-off", "changes")
