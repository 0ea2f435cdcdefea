"""The jobs of the team's pages."""

from django.utils import timezone

from core.jobs.registration import has_time_left, job, periodic_job
from workspace.bulk import STALLED_AFTER, BulkChange, process_batch

MAX_CONTINUED = 100


@job(time_limit=300)
def run_bulk_change(*, account_id: int, bulk_change_id: int) -> None:
    """Process the rows of a bulk change, or of its undo, batch after batch. Each batch is one transaction."""
    follows = True
    while follows and has_time_left():
        follows = process_batch(account_id, bulk_change_id)
    if follows:
        run_bulk_change.defer(account_id=account_id, bulk_change_id=bulk_change_id)


@periodic_job(cron="*/15 * * * *")
def continue_bulk_changes() -> None:
    """Continue changes without progress, such as those whose job failed during an outage of the database."""
    stalled = BulkChange.objects.active().filter(updated_at__lt=timezone.now() - STALLED_AFTER).order_by("updated_at")
    for account_id, id in stalled.values_list("account_id", "id")[:MAX_CONTINUED]:
        # Another transaction may hold the change. It is then in progress, and processing waits for the lock.
        run_bulk_change.defer(account_id=account_id, bulk_change_id=id, _queueing_lock=f"bulk change {account_id}/{id}")
