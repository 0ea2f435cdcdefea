"""The job that follows a changed outcome of a status."""

from django.db import connection, transaction

from accounts.statuses.models import Status
from core.jobs.registry import MAX_TIME_SLICE, has_time_left, job

BATCH_SIZE = 2000

# The rows are locked in the order of their ids, as in all code that locks several deals. The condition finds only deals that are not up to
# date, so that the job can be repeated.
UPDATE_CLOSED_AT = """
WITH outdated AS (
    SELECT id FROM crm_deal
    WHERE account_id = %(account_id)s AND status_id = %(status_id)s AND (closed_at IS NULL) = %(is_closed)s
    ORDER BY id LIMIT %(limit)s FOR NO KEY UPDATE
)
UPDATE crm_deal SET closed_at = CASE WHEN %(is_closed)s THEN stage_entered_at END, updated_at = now()
FROM outdated WHERE crm_deal.account_id = %(account_id)s AND crm_deal.id = outdated.id
"""


@job(time_limit=600, time_slice=MAX_TIME_SLICE)
def update_closed_at(*, account_id: int, status_id: int) -> None:
    """Set `closed_at` of the deals in a status whose outcome was changed."""
    count = BATCH_SIZE
    while count == BATCH_SIZE and has_time_left():
        with transaction.atomic(), connection.cursor() as cursor:
            status = Status.objects.filter(account_id=account_id, id=status_id).select_for_update(no_key=True).first()
            if status is None:
                return
            parameters = {"account_id": account_id, "status_id": status_id, "is_closed": status.closed}
            cursor.execute(UPDATE_CLOSED_AT, {**parameters, "limit": BATCH_SIZE})
            count = cursor.rowcount
    if count == BATCH_SIZE:
        update_closed_at.defer(account_id=account_id, status_id=status_id)
