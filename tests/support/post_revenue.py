"""The stored clients and figures of suggestions in tests: the job that updates them, and a recount in Python."""

from collections import defaultdict
from dataclasses import asdict
from datetime import timedelta
from decimal import Decimal

from django.db.models import F

from accounts.account.models import Account
from forum.votes.models import VoteChange
from team.backers.models import PostBacker, PostRevenue, RevenueChange, stored_revenue, update_post_revenues
from team.summaries.models import Revenue


def process() -> None:
    """Process the queue, with the rows that are due later."""
    RevenueChange.objects.update(due_at=F("due_at") - timedelta(minutes=2))
    update_post_revenues()
    assert not RevenueChange.objects.exists()
    assert not VoteChange.objects.exists()


def store_revenue(account: Account) -> None:
    """Store the clients and figures of all suggestions, for tests that only read them. The job takes much longer."""
    account.post_backers.all().delete()
    account.post_revenues.all().delete()
    forums = dict(account.posts.values_list("id", "forum_id"))
    for post_id, (client_ids, revenue) in computed(account).items():
        values = {"account": account, "post_id": post_id}
        PostBacker.objects.bulk_create(PostBacker(client_id=client_id, **values) for client_id in client_ids)
        by_currency = {total.currency: asdict(total) for total in revenue}
        rows = {account.currency: {"currency": account.currency}} | by_currency
        values |= {"forum_id": forums[post_id], "clients": len(client_ids)}
        PostRevenue.objects.bulk_create(PostRevenue(**values, **figures) for figures in rows.values())


def computed(account: Account) -> dict:
    """Return what `stored` should return, from all rows of the account."""
    clients = set(account.clients.live().values_list("id", flat=True))
    client_of_contact = dict(account.contacts.live().values_list("id", "client_id"))
    # The customers that a row leads to, as pairs of a client and a contact, by post; and the users, by post.
    customers, users = defaultdict(set), defaultdict(set)
    for id, duplicate_from_id, client_id, contact_id, user_id in (
        account.posts.live()
        .without_tasks()
        .values_list("id", "duplicate_from_id", "client_id", "contact_id", "user_id")
    ):
        post_id = duplicate_from_id or id
        customers[post_id].add((client_id, contact_id))
        users[post_id].add(user_id)
    originals = account.posts.live().without_tasks().filter(duplicate_from_id=None).values_list("id", flat=True)
    for post_id, user_id in account.votes.values_list("post_id", "user_id"):
        users[post_id].add(user_id)
    for post_id, *pair in account.proxy_votes.values_list("post_id", "client_id", "contact_id"):
        customers[post_id].add(tuple(pair))
    links = account.user_links.filter(state="confirmed").values_list("user_id", "client_id", "contact_id")
    linked = {user_id: tuple(pair) for user_id, *pair in links}
    found, deals = {}, deals_of(account)
    for post_id in originals:
        pairs = customers[post_id] | {linked[user_id] for user_id in users[post_id] & linked.keys()}
        ids = {id for client_id, contact_id in pairs for id in (client_id, client_of_contact.get(contact_id))} & clients
        if ids:
            found[post_id] = (ids, total_of([deal for id in ids for deal in deals[id]], account.currency))
    return found


def deals_of(account: Account) -> dict[int, list[tuple[str, str, Decimal]]]:
    """Return the currency, the outcome and the price of the deals, by client."""
    outcomes, found = dict(account.statuses.values_list("id", "outcome")), defaultdict(list)
    for deal in account.deals.live():
        outcome = outcomes[deal.status_id] if deal.status_id else "open"
        found[deal.client_id].append((deal.currency, outcome, deal.price or Decimal(0)))
    return found


def total_of(deals: list[tuple[str, str, Decimal]], first_currency: str) -> list[Revenue]:
    figures = defaultdict(lambda: [0, Decimal(0), 0, Decimal(0)])
    for currency, outcome, price in deals:
        if outcome != "lost":
            index = 0 if outcome == "open" else 2
            figures[currency][index] += 1
            figures[currency][index + 1] += price
    currencies = sorted(figures, key=lambda currency: (currency != first_currency, currency))
    return [Revenue(currency, *figures[currency]) for currency in currencies]


def stored(account: Account) -> dict:
    """Return the stored clients and revenue of all posts, without rows of the account's currency that have no deals."""
    clients: defaultdict = defaultdict(set)
    for post_id, client_id in account.post_backers.values_list("post_id", "client_id"):
        clients[post_id].add(client_id)
    revenue = stored_revenue(account, list(account.posts.values_list("id", flat=True)))
    assert {id: number for id, (number, _) in revenue.items()} == {id: len(ids) for id, ids in clients.items()}
    return {
        id: (clients[id], [total for total in sums if total.open_deals or total.won_deals])
        for id, (_, sums) in revenue.items()
    }
