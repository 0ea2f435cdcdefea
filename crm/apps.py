from django.utils.translation import gettext_lazy as _

from core import rooms


class CRM(rooms.Room):
    name = "crm"
    subjects = ("clients", "contacts", "deals", "notes", "user_links", "resources")
    field_labels = {
        "client": _("client"),
        "additional_fields": _("additional fields"),
        "contact": _("contact"),
        "duration": _("duration"),
        "note": _("note"),
        "noted_at": _("time of the note"),
        "outcome": _("outcome"),
        "state": _("state"),
        "user_link": _("link of a user"),
    }
