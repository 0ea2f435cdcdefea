from django.apps import AppConfig
from django.urls import register_converter
from django.utils.translation import gettext_lazy as _


class CoreConfig(AppConfig):
    name = "core"
    # The names of fields, without `_id`, in error messages that do not stand next to the field (`core.pages.errors`).
    field_labels = {
        "additional_fields": _("additional fields"),
        "name": _("name"),
        "order": _("order"),
        "request": _("request"),
    }

    def ready(self) -> None:
        from core import housekeeping  # noqa: F401
        from core.api.routing import IdConverter
        from core.db import checks  # noqa: F401

        register_converter(IdConverter, "id")
