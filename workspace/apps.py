from django.apps import AppConfig


class WorkspaceConfig(AppConfig):
    """The team's pages over clients, contacts, deals, tasks and suggestions."""

    name = "workspace"

    def ready(self) -> None:
        from workspace.notes import register_notes
        from workspace.pages.navigation import register_entries

        register_entries()
        register_notes()
