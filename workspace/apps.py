from django.apps import AppConfig


class WorkspaceConfig(AppConfig):
    """The team's pages over clients, contacts, deals, tasks and suggestions."""

    name = "workspace"

    def ready(self) -> None:
        from core.pages import panels
        from workspace.pages.backers import render_backers_panel
        from workspace.pages.navigation import register_entries
        from workspace.pages.user_links import render_user_panel

        register_entries()
        panels.register("post", render_backers_panel)
        panels.register("user", render_user_panel)
