from django.apps import AppConfig
from django.urls import register_converter


class CoreConfig(AppConfig):
    name = "core"

    def ready(self) -> None:
        from core.api.routing import IdConverter
        from core.db import checks  # noqa: F401

        register_converter(IdConverter, "id")
