from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"

    def ready(self) -> None:
        from accounts import checks  # noqa: F401
        from accounts.pages.navigation import register_entries
        from accounts.resources import RESOURCES
        from core.registry import registry

        registry.register(*RESOURCES)
        register_entries()
