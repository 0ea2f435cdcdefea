from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """The app that holds the management commands of the top room."""

    name = label = "config"
