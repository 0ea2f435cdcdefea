"""Summaries in tests: the stored values, and a recount in Python."""

from collections import defaultdict
from decimal import Decimal

from accounts.account.models import Account
from team.timeline.models import TimelineEntry


def stored(account: Account) -> dict:
    """Return the summaries of live rows and the revenue of an account, by the kind and the id of the row."""
    found = {}
    for kind, rows in (
        ("client", account.client_summaries),
        ("contact", account.contact_summaries),
        ("deal", account.deal_summaries),
    ):
        for summary in rows.exclude(last_activity_at=None):
            found[kind, getattr(summary, f"{kind}_id")] = (summary.last_activity_at, summary.next_task_at)
    columns = ("open_deals", "open_sum", "won_deals", "won_sum")
    for client_id, currency, *figures in account.client_revenues.values_list("client_id", "currency", *columns):
        found["revenue", client_id, currency] = tuple(figures)
    for client_id, *sums in account.client_summaries.values_list("client_id", "open_sum", "won_sum"):
        if any(sums):
            found["sums", client_id] = tuple(sums)
    return found


def recounted(account: Account) -> dict:
    """Return what `stored` should return, from all rows of the account."""
    clients, contacts, deals = (
        {row.id: row for row in rows.live()} for rows in (account.clients, account.contacts, account.deals)
    )
    activity = {
        (kind, id): [row.created_at]
        for kind, rows in (("client", clients), ("contact", contacts), ("deal", deals))
        for id, row in rows.items()
    }
    for entry in TimelineEntry.objects.filter(account=account):
        if entry.kind in {"note", "call", "meeting", "email", "task_done", "suggestion", "vote", "message"}:
            for kind in ("client", "contact", "deal"):
                activity.get((kind, getattr(entry, f"{kind}_id")), []).append(entry.at)
    tasks = defaultdict(list)
    for post in account.posts.live():
        if post.category_id is None and not post.closed and post.scheduled_at:
            for kind in ("client", "contact", "deal"):
                tasks[kind, getattr(post, f"{kind}_id")].append(post.scheduled_at)
    for kind, rows, targets in (("deal", deals, ("contact", "client")), ("contact", contacts, ("client",))):
        for id, row in rows.items():
            for target in targets:
                tasks[target, getattr(row, f"{target}_id")] += tasks[kind, id]
    found: dict = {key: (max(times), min(tasks[key], default=None)) for key, times in activity.items()}
    outcomes = dict(account.statuses.values_list("id", "outcome"))
    revenue: defaultdict = defaultdict(lambda: [0, Decimal(0), 0, Decimal(0)])
    for deal in deals.values():
        outcome = outcomes[deal.status_id] if deal.status_id else "open"
        if deal.client_id and outcome != "lost":
            figures = revenue["revenue", deal.client_id, deal.currency]
            index = 0 if outcome == "open" else 2
            figures[index] += 1
            figures[index + 1] += deal.price or 0
    found |= {key: tuple(figures) for key, figures in revenue.items()}
    for (_, client_id, currency), figures in revenue.items():
        sums = (figures[1], figures[3])
        if currency == account.currency and any(sums):
            found["sums", client_id] = sums
    return found
