from django.apps import AppConfig


class WorkspaceConfig(AppConfig):
    """The team's pages over clients, contacts, deals, tasks and suggestions."""

    name = "workspace"

    def ready(self) -> None:
        from accounts.signals import currency_changed, outcome_changed
        from workspace.jobs import follow_currency, follow_outcome
        from workspace.pages.navigation import register_entries

        register_entries()
        outcome_changed.connect(follow_outcome)
        currency_changed.connect(follow_currency)
