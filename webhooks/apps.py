from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from core import rooms


class Webhooks(rooms.Room):
    name = "webhooks"
    field_labels = {
        "delivery": _("delivery"),
        "events": _("events"),
        "since": pgettext_lazy("a time", "since"),
        "until": pgettext_lazy("a time", "until"),
        "webhook": _("webhook"),
    }
