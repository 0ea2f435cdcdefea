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
        "url": _("address"),
    }

    def ready(self) -> None:
        from core import housekeeping  # noqa: F401
        from core.api.routing import IdConverter
        from core.changes import dispatcher
        from core.db import checks  # noqa: F401
        from core.jobs.registration import register_loop

        register_converter(IdConverter, "id")
        register_loop("numbering of changes", dispatcher.number_changes)
        register_loop("followers of changes", dispatcher.run_followers)
