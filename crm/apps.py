from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CrmConfig(AppConfig):
    name = "crm"
    field_labels = {
        "client": _("client"),
        "contact": _("contact"),
    }

    def ready(self) -> None:
        from core.registry import registry
        from crm.resources import RESOURCES

        registry.register(*RESOURCES)
