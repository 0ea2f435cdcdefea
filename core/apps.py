from django.utils.translation import gettext_lazy as _

from core import rooms


class Core(rooms.Room):
    name = "core"
    subjects = ("pages", "openapi", "change_feed", "housekeeping", "files", "health", "backups")
    # The names of fields, without `_id`, in error messages that do not stand next to the field (`core.pages.errors`).
    field_labels = {
        "additional_fields": _("additional fields"),
        "file": _("file"),
        "name": _("name"),
        "order": _("order"),
        "request": _("request"),
        "url": _("address"),
    }
