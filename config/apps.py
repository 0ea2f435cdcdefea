from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """The app of the checks of the settings, and of the management commands that use all rooms."""

    name = label = "config"

    def ready(self) -> None:
        from config import checks  # noqa: F401, register the checks of the settings
