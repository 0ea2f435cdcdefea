from django.apps import AppConfig


class CrmConfig(AppConfig):
    name = "crm"

    def ready(self) -> None:
        from core.registry import registry
        from crm.resources import RESOURCES

        registry.register(*RESOURCES)
