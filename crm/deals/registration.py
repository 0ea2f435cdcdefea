"""The registration of deals (`core.rooms`)."""

from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _

from accounts.attachments.holders import Holder, register_holder, rows_for_team
from accounts.statuses.models import Status, outcome_changed
from core.changes import events
from core.db.derived import insert_with, register
from core.rows.scopes import areas
from crm.deals.jobs import update_closed_at
from crm.deals.models import NEW_STAGES, STAGES, Deal

areas.register("deals", _("Deals"))
insert_with(Deal, NEW_STAGES)
register(STAGES)
register_holder(Holder("deal", Deal, lambda account, user: rows_for_team(account, user, account.deals)))
OPEN, WON, LOST = ({"status_id": id, "status": name} for id, name in ((11, "New"), (14, "Won"), (15, "Lost")))
events.register("deal", "stage_changed", _("stage changed"), before=OPEN, after=WON)
events.register("deal", "won", _("won"), before=OPEN, after=WON)
events.register("deal", "lost", _("lost"), before=OPEN, after=LOST)
events.register("deal", "reopened", _("opened again"), before=LOST, after=OPEN)


@receiver(outcome_changed)
def update_deals(*, status: Status, **_options: object) -> None:
    update_closed_at.defer(account_id=status.account_id, status_id=status.id)
