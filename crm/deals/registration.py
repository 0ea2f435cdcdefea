"""The registration of deals (`core.rooms`)."""

from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _

from accounts.statuses.models import Status, outcome_changed
from core.registry import Resource, newest_id, registry
from crm.deals.jobs import update_closed_at
from crm.deals.models import Deal, register_derivations

registry.register(
    Resource(
        "deal",
        Deal,
        "crm.deals.api.DealViewSet",
        label=_("Deal"),
        plural_label=_("Deals"),
        icon="handshake",
        collection="deals",
        samples={"deal": lambda request: newest_id(request.account.deals.live().accessible_to(request.user))},
    )
)
register_derivations()


@receiver(outcome_changed)
def update_deals(*, status: Status, **_options: object) -> None:
    """Update the deals in a status after its outcome has changed."""
    update_closed_at.defer(account_id=status.account_id, status_id=status.id)
