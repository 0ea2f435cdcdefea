"""The registration of deals (`core.rooms`)."""

from django.dispatch import receiver

from accounts.statuses.models import Status, outcome_changed
from crm.deals.jobs import update_closed_at
from crm.deals.models import register_derivations

register_derivations()


@receiver(outcome_changed)
def update_deals(*, status: Status, **_options: object) -> None:
    """Update the deals in a status after its outcome has changed."""
    update_closed_at.defer(account_id=status.account_id, status_id=status.id)
