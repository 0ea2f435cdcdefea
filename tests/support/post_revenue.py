"""The stored clients and figures of suggestions in tests: the job that updates them, and a computation from the rows."""

from collections import defaultdict
from datetime import timedelta

from django.db.models import F

from accounts.models import Account, User
from workspace.backers import backers_of, total_revenue
from workspace.models import RevenueChange
from workspace.post_revenue import stored_revenue, update_post_revenues


def process() -> None:
    """Process the queue, with the rows that are due later."""
    RevenueChange.objects.update(due_at=F("due_at") - timedelta(minutes=2))
    update_post_revenues()
    assert not RevenueChange.objects.exists()


def computed(account: Account) -> dict:
    """Return what `stored` should return, computed from the rows."""
    owner, found = account.users.get(role=User.Role.OWNER), {}
    for post in account.posts.live().without_tasks().filter(duplicate_from_id=None):
        if clients := set(backers_of(account, owner, post.id).values_list("id", flat=True)):
            found[post.id] = (clients, total_revenue(account, owner, post.id))
    return found


def stored(account: Account) -> dict:
    """Return the stored clients and revenue of all posts, without rows of the account's currency that have no deals."""
    clients: defaultdict = defaultdict(set)
    for post_id, client_id in account.post_backers.values_list("post_id", "client_id"):
        clients[post_id].add(client_id)
    revenue = stored_revenue(account, list(account.posts.values_list("id", flat=True)))
    assert {id: number for id, (number, _) in revenue.items()} == {id: len(ids) for id, ids in clients.items()}
    return {
        id: (clients[id], [each for each in sums if each.open_deals or each.won_deals])
        for id, (_, sums) in revenue.items()
    }
