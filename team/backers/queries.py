"""The clients behind a suggestion, and the value of their deals.

A client is behind a suggestion if it, or one of its contacts,

- has a vote that the team cast in its place,
- is the customer for whom the team wrote the suggestion,
- is linked to a user who wrote the suggestion or voted for it (`crm.user_links.models`, confirmed links only).

The suggestions that were merged into it count as well: a merge copies their votes, and their authors are looked up here. A user counts
only the clients and the deals that they may access.
"""

from collections import defaultdict
from collections.abc import Collection
from decimal import Decimal

from django.db.models import F, Model, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.account.models import Account
from accounts.users.models import User
from core.db.arrays import equals_any_of
from crm.clients.models import ClientQuerySet
from crm.contacts.models import ContactQuerySet
from team.summaries.revenue import Revenue, as_revenue, order_by_currency, revenue_by


def customers_of(account: Account, post_id: int) -> tuple[QuerySet[Model], ...]:
    """Return the rows whose columns `client_id` and `contact_id` name the customers behind a suggestion."""
    posts = account.posts.live().filter(Q(id=post_id) | Q(duplicate_from_id=post_id))
    voters = values_of("user_id", posts, account.votes.filter(post_id=post_id))
    links = account.user_links.confirmed().filter(equals_any_of("user_id", voters))
    return posts, account.proxy_votes.filter(post_id=post_id), links


def backers_of(account: Account, user: User, post_id: int) -> ClientQuerySet:
    """Return the clients behind a suggestion that the user may access."""
    customers = customers_of(account, post_id)
    contacts = account.contacts.live().filter(equals_any_of("id", values_of("contact_id", *customers)))
    ids = values_of("client_id", *customers, contacts)
    return account.clients.live().accessible_to(user).filter(equals_any_of("id", ids))


def backing_contacts_of(account: Account, user: User, post_id: int) -> ContactQuerySet:
    """Return the contacts behind a suggestion that the user may access."""
    ids = values_of("contact_id", *customers_of(account, post_id))
    return account.contacts.live().accessible_to(user).filter(equals_any_of("id", ids))


def values_of(column: str, *querysets: QuerySet[Model]) -> QuerySet[Model, object]:
    """Return the values of a column in the rows of several querysets, for a subquery."""
    first, *others = (rows.order_by().values(column) for rows in querysets)
    return first.union(*others, all=True)


def revenue_of(account: Account, user: User, client_ids: Collection[int]) -> dict[int, list[Revenue]]:
    """Return the revenue of each client that has open or won deals, with one statement."""
    rows = revenue_by(account, user.access, "client_id", "currency", client_id__in=client_ids)
    found: defaultdict[int, list[Revenue]] = defaultdict(list)
    for row in order_by_currency(account, rows, "client_id"):
        found[row["client_id"]].append(as_revenue(row))
    return dict(found)


def total_revenue(account: Account, user: User, post_id: int) -> list[Revenue]:
    """Return the revenue of all clients behind a suggestion, per currency. Sums of different currencies are never added."""
    clients = backers_of(account, user, post_id).order_by().values("id")
    rows = revenue_by(account, user.access, "currency", client_id__in=clients)
    return [as_revenue(row) for row in order_by_currency(account, rows)]


def order_by_revenue(clients: QuerySet[Model], account: Account, user: User) -> QuerySet[Model]:
    """Order clients by the sum of their open and won deals in the currency of the account, the highest first."""
    revenue = revenue_by(account, user.access, "client_id", client_id=OuterRef("id"), currency=account.currency)
    total = revenue.annotate(total=F("open_sum") + F("won_sum")).values("total")[:1]
    found: QuerySet[Model] = clients.annotate(total=Coalesce(Subquery(total), Decimal(0))).order_by("-total", "id")
    return found
