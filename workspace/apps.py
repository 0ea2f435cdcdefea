from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class WorkspaceConfig(AppConfig):
    """The team's pages over clients, contacts, deals, tasks and suggestions."""

    name = "workspace"

    field_labels = {
        "merge": _("merge"),
        "merged_client": _("other client"),
        "merged_contact": _("other contact"),
    }

    def ready(self) -> None:
        from core.db.trash import restoring
        from core.registry import newest_id, registry
        from workspace.merging import MODELS, refuse_restore
        from workspace.pages.navigation import register_entries

        register_entries()
        for model in MODELS.values():
            restoring.connect(refuse_restore, sender=model)
        registry.register_sample(
            "merges", "merge", lambda request: newest_id(request.account.merges.accessible_to(request.user))
        )
