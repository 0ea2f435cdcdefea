"""The comparison of the stored clients and figures of suggestions with the rows on which they depend, and their repair."""

from django.db import transaction

from accounts.account.models import Account
from core.db import locks
from team.backers.post_revenue import (
    RevenueChange,
    affected_posts,
    figures_of,
    process_batch,
    queue_voted_posts,
    revenue_lock,
    update_post,
)
from team.backers.queries import values_of
from team.summaries.revenue import FIGURES


def recount_posts(account_id: int, *, repair: bool) -> list[int]:
    """Compare the stored clients and figures of all suggestions. Return the ids of those that differ. With `repair`, write them.

    A suggestion that differs is compared again after its queued changes, which are no errors.
    """
    account = Account.objects.get(id=account_id)
    process_queue(account_id)
    ids = [id for id in posts_with_clients(account) if differs(account, id)]
    if ids:
        process_queue(account_id)
    found = []
    for id in ids:
        with transaction.atomic():
            locks.acquire(revenue_lock(account_id))
            if differs(account, id):
                found.append(id)
                if repair:
                    update_post(account, id)
    return found


def process_queue(account_id: int) -> None:
    queue_voted_posts()
    while process_batch(account_id):
        pass


def posts_with_clients(account: Account) -> list[int]:
    """Return the ids of the suggestions that have stored clients or figures, or whose customers, authors or voters may be clients."""
    sources = [
        *affected_posts(account, RevenueChange.Kind.CLIENT, values_of("id", account.clients.all())),
        *(values_of("post_id", rows.all()) for rows in (account.post_backers, account.post_revenues)),
    ]
    first, *others = sources
    found = first.union(*others).values_list(first.query.values_select[0], flat=True)
    # A suggestion that was merged into another one counts for that one.
    merged = account.posts.filter(id__any=list(found)).values_list("id", "duplicate_from_id")
    return sorted({duplicate_from_id or id for id, duplicate_from_id in merged})


def differs(account: Account, post_id: int) -> bool:
    forum_id, client_ids, revenue = figures_of(account, post_id)
    backers = account.post_backers.filter(post_id=post_id).values_list("client_id", flat=True)
    rows = account.post_revenues.filter(post_id=post_id).values_list("currency", "forum_id", "clients", *FIGURES)
    expected = {
        (currency, forum_id, len(client_ids), *(getattr(total, name) for name in FIGURES))
        for currency, total in revenue.items()
    }
    return set(backers) != client_ids or set(rows) != expected
