from django.utils.translation import gettext_lazy as _

from core import rooms


class Webhooks(rooms.Room):
    name = "webhooks"
    field_labels = {"delivery": _("delivery"), "events": _("events"), "webhook": _("webhook")}
