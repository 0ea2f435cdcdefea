from django.utils.translation import gettext_lazy as _

from core import rooms


class CRM(rooms.Room):
    name = "crm"
    subjects = ("clients", "contacts", "deals", "notes", "user_links", "fields", "resources")
    field_labels = {
        "client": _("client"),
        "additional_fields": _("additional fields"),
        "choices": _("choices"),
        "contact": _("contact"),
        "duration": _("duration"),
        "note": _("note"),
        "noted_at": _("time of the note"),
        "outcome": _("outcome"),
        "field_definition": _("field"),
        "key": _("key"),
        "label": _("label"),
        "state": _("state"),
        "type": _("type"),
        "user_link": _("link of a user"),
    }
