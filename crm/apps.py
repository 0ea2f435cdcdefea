from typing import TYPE_CHECKING

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from accounts.statuses import Status


class CrmConfig(AppConfig):
    name = "crm"
    field_labels = {
        "client": _("client"),
        "additional_fields": _("additional fields"),
        "choices": _("choices"),
        "contact": _("contact"),
        "duration": _("duration"),
        "note": _("note"),
        "noted_at": _("time of the note"),
        "field_definition": _("field"),
        "key": _("key"),
        "label": _("label"),
        "type": _("type"),
    }

    def ready(self) -> None:
        from accounts.signals import outcome_changed
        from core.registry import registry
        from crm import jobs  # noqa: F401
        from crm.resources import RESOURCES

        registry.register(*RESOURCES)
        outcome_changed.connect(update_deals)


def update_deals(*, status: "Status", **_options: object) -> None:
    """Update the deals in a status after its outcome has changed."""
    from crm.jobs import update_closed_at

    update_closed_at.defer(account_id=status.account_id, status_id=status.id)
