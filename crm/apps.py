from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CrmConfig(AppConfig):
    name = "crm"
    field_labels = {
        "client": _("client"),
        "additional_fields": _("additional fields"),
        "choices": _("choices"),
        "contact": _("contact"),
        "field_definition": _("field"),
        "key": _("key"),
        "label": _("label"),
        "type": _("type"),
    }

    def ready(self) -> None:
        from core.registry import registry
        from crm.resources import RESOURCES

        registry.register(*RESOURCES)
