from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """The app of the management commands that use all rooms."""

    name = label = "config"
