from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class WorkspaceConfig(AppConfig):
    """The team's pages over clients, contacts, deals, tasks and suggestions."""

    name = "workspace"
    field_labels = {
        "column": _("column"),
        "reason": _("reason"),
    }

    def ready(self) -> None:
        from workspace.pages.navigation import register_entries

        register_entries()
