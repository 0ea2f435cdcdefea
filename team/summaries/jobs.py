"""The jobs that update summaries after changes that affect more rows than one transaction can update."""

from django.db import transaction

from core.jobs.registry import MAX_TIME_SLICE, has_time_left, job
from team.summaries.models import update_summaries
from team.summaries.recount import BATCH_SIZE, fetch_ids

DEALS_WITH_FORMER_OUTCOME = """
SELECT deal.id FROM crm_deal AS deal
JOIN accounts_status AS status ON status.account_id = deal.account_id AND status.id = deal.status_id
JOIN team_dealsummary AS summary ON summary.account_id = deal.account_id AND summary.deal_id = deal.id
WHERE deal.account_id = %(account_id)s AND deal.status_id = %(status_id)s AND deal.trashed_at IS NULL
    AND summary.outcome IS DISTINCT FROM status.outcome
ORDER BY deal.id
"""

# Clients whose sums are in another currency: those with sums, and those with revenue in the currency of the account.
CLIENTS_WITH_FORMER_CURRENCY = """
SELECT summary.client_id FROM team_clientsummary AS summary
LEFT JOIN team_clientrevenue AS revenue ON revenue.account_id = summary.account_id
    AND revenue.client_id = summary.client_id
    AND revenue.currency = (SELECT currency FROM accounts_account WHERE id = %(account_id)s)
WHERE summary.account_id = %(account_id)s
    AND (summary.open_sum, summary.won_sum) <> (coalesce(revenue.open_sum, 0), coalesce(revenue.won_sum, 0))
ORDER BY summary.client_id
"""


@job(time_limit=600, time_slice=MAX_TIME_SLICE)
def update_summaries_of_status(*, account_id: int, status_id: int) -> None:
    """Update the summaries of the deals in a status whose outcome was changed."""
    deals = fetch_ids(DEALS_WITH_FORMER_OUTCOME, {"account_id": account_id, "status_id": status_id})
    if not _update("deals", account_id, deals):
        update_summaries_of_status.defer(account_id=account_id, status_id=status_id)


@job(time_limit=600, time_slice=MAX_TIME_SLICE)
def update_sums_of_account(*, account_id: int) -> None:
    """Update the sums of the clients of an account whose currency was changed."""
    clients = fetch_ids(CLIENTS_WITH_FORMER_CURRENCY, {"account_id": account_id})
    if not _update("clients", account_id, clients):
        update_sums_of_account.defer(account_id=account_id)


def _update(name: str, account_id: int, ids: list[int]) -> bool:
    """Update the summaries in batches, each in one transaction. Return False if the time ends before."""
    for start in range(0, len(ids), BATCH_SIZE):
        if not has_time_left():
            return False
        with transaction.atomic():
            update_summaries(account_id, **{name: ids[start : start + BATCH_SIZE]})
    return True
