from datetime import timedelta

from django.dispatch import receiver
from django.utils import timezone

from accounts.account.models import Account, currency_changed
from accounts.statuses.models import Status, outcome_changed
from crm.clients.models import LAST_ACTIVITY
from team.summaries import health  # noqa: F401  # it registers a check
from team.summaries.jobs import update_summaries_of_status, update_sums_of_account
from team.summaries.models import last_activity_of_client

# A transaction that reads the status or the account before the change may commit after the first run. By then, it has ended.
SECOND_RUN_AFTER = timedelta(minutes=2)

LAST_ACTIVITY[:] = [last_activity_of_client()]


@receiver(outcome_changed)
def follow_outcome(*, status: Status, **_options: object) -> None:
    for moment in (None, timezone.now() + SECOND_RUN_AFTER):
        update_summaries_of_status.defer(account_id=status.account_id, status_id=status.id, _schedule_at=moment)


@receiver(currency_changed)
def follow_currency(*, account: Account, **_options: object) -> None:
    for moment in (None, timezone.now() + SECOND_RUN_AFTER):
        update_sums_of_account.defer(account_id=account.id, _schedule_at=moment)
