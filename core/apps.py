from django.apps import AppConfig
from django.urls import register_converter
from django.utils.translation import gettext_lazy as _


class CoreConfig(AppConfig):
    name = "core"
    # What pages call a field, where a message does not stand beside it (`core.pages.errors`); without `_id`.
    field_labels = {
        "additional_fields": _("additional fields"),
        "name": _("name"),
        "order": _("order"),
        "request": _("request"),
    }

    def ready(self) -> None:
        from core.api.routing import IdConverter
        from core.db import checks  # noqa: F401

        register_converter(IdConverter, "id")
