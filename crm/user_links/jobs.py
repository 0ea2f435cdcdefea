"""The job that proposes links for all members of an account."""

from accounts.account.models import Account
from core.jobs.registry import MAX_TIME_SLICE, has_time_left, job
from crm.user_links.models import active_members, propose_links

BATCH_SIZE = 2000


@job(time_limit=600, time_slice=MAX_TIME_SLICE)
def propose_all_links(*, account_id: int, after: int = 0) -> None:
    """Propose links for the members of an account whose id is higher than `after`."""
    account = Account.objects.filter(id=account_id).first()
    while account is not None and has_time_left():
        rows = active_members(account).filter(id__gt=after).order_by("id").values_list("email_key", "id")
        user_ids = dict(rows[:BATCH_SIZE])
        propose_links(account, user_ids)
        if len(user_ids) < BATCH_SIZE:
            return
        after = max(user_ids.values())
    if account is not None:
        propose_all_links.defer(account_id=account_id, after=after)
