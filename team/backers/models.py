"""The clients behind each suggestion and the sums of their deals, computed for one suggestion, and stored for lists and filters.

A client is behind a suggestion if it, or one of its contacts,

- has a vote that the team cast in its place,
- is the customer for whom the team wrote the suggestion,
- is linked to a user who wrote the suggestion or voted for it (`crm.user_links.models`, confirmed links only).

The suggestions that were merged into it count as well: a merge copies their votes, and their authors are looked up here. A user counts
only the clients and the deals that they may access.

The stored clients and figures are those for a user who may access all clients and deals. A suggestion with clients has one row in the
currency of the account, even without deals, and one for each other currency of its clients' deals.

The rows on which the figures depend are queued when these change: by `team.backers.revenue_changes`, and for votes by the forum
(`VoteChange`). A job computes the figures of the affected suggestions within about a minute. The queues are committed with the change, so no
change is missed.
"""

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import asdict, astuple
from decimal import Decimal
from itertools import groupby, islice
from typing import Any

from django.db import connection, models, transaction
from django.db.models import F, Func, Model, OuterRef, Q, QuerySet, Subquery, Value, Window
from django.db.models.functions import Coalesce, Now, RowNumber

from accounts.account.models import Account
from accounts.users.models import User
from core.api.paging import ListPage
from core.db import locks
from core.db.arrays import equals_any_of
from core.db.tenancy import foreign_object
from core.jobs.registry import has_time_left, periodic_job
from crm.clients.models import Client, ClientQuerySet
from crm.contacts.models import ContactQuerySet
from forum.posts.models import Post
from team.summaries.models import FIGURES, Revenue, as_revenue, order_by_currency, revenue_by

# The number of queued rows that one transaction processes.
BATCH_SIZE = 100
RowIds = QuerySet[Any, Any] | Collection[int]


class PostBacker(models.Model):
    """A client behind a suggestion."""

    pk = models.CompositePrimaryKey("account_id", "post_id", "client_id")
    account = models.ForeignKey(Account, models.CASCADE, db_index=False, db_constraint=False)
    post_id = models.BigIntegerField()
    post = foreign_object(Post, "post_id", related_name="backers")
    client_id = models.BigIntegerField()
    client = foreign_object(Client, "client_id")

    class Meta:
        default_related_name = "post_backers"
        indexes = [models.Index(fields=["account", "client_id", "post_id"], name="post_backer_by_client")]

    def __str__(self) -> str:
        return f"client {self.client_id} behind post {self.post_id}"


class PostRevenue(models.Model):
    """The clients behind a suggestion, and the open and won deals of all of them in one currency."""

    pk = models.CompositePrimaryKey("account_id", "post_id", "currency")
    account = models.ForeignKey(Account, models.CASCADE, db_index=False, db_constraint=False)
    post_id = models.BigIntegerField()
    post = foreign_object(Post, "post_id", related_name="revenues")
    currency = models.TextField()
    forum_id = models.BigIntegerField()
    clients = models.IntegerField()
    open_deals = models.IntegerField(default=0)
    open_sum = models.DecimalField(max_digits=30, decimal_places=6, default=0)
    won_deals = models.IntegerField(default=0)
    won_sum = models.DecimalField(max_digits=30, decimal_places=6, default=0)
    total = models.GeneratedField(
        expression=F("open_sum") + F("won_sum"),
        output_field=models.DecimalField(max_digits=31, decimal_places=6),
        db_persist=True,
    )

    class Meta:
        default_related_name = "post_revenues"
        indexes = [
            models.Index(fields=["account", "forum_id", "currency", column, "post_id"], name=f"post_by_{name}")
            for name, column in (("revenue", "total"), ("clients", "clients"))
        ]

    def __str__(self) -> str:
        return f"{self.currency} of post {self.post_id}: {self.open_sum} open, {self.won_sum} won"


class RevenueChange(models.Model):
    """A queued row on which the figures of suggestions depend."""

    class Kind(models.TextChoices):
        POST = "post"
        USER = "user"
        CLIENT = "client"
        CONTACT = "contact"
        # All suggestions with clients, after another outcome of a status or another currency of the account.
        ACCOUNT = "account"

    pk = models.CompositePrimaryKey("account_id", "number")
    account = models.ForeignKey(Account, models.CASCADE, db_index=False, db_constraint=False)
    number = models.BigIntegerField(
        db_default=Func(Value("team_revenuechange_numbers"), function="nextval"), editable=False
    )
    kind = models.TextField(choices=Kind)
    row_id = models.BigIntegerField()
    due_at = models.DateTimeField(db_default=Now())

    class Meta:
        default_related_name = "revenue_changes"
        indexes = [
            models.Index(fields=["due_at"], name="revenue_change_due"),
            models.Index(fields=["account", "due_at", "number"], name="revenue_change_of_account"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.row_id}"


# The clients behind a suggestion


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


# Reading the stored figures


def sort_by(column: str, posts: QuerySet[Model], account: Account) -> QuerySet[Model]:
    """Order the posts of a forum by a column of their figures, the highest first. Posts without clients are left out."""
    # The forum is a column of the index for the order.
    rows = posts.filter(revenues__currency=account.currency, revenues__forum_id=F("forum_id"))
    return rows.order_by(f"-revenues__{column}", "-revenues__post_id")


def page_by(
    column: str, posts: QuerySet[Model], account: Account, forum_ids: Collection[int], page: ListPage
) -> list[int]:
    """Return the ids of a page of the posts, and one more if there are more, in the order of `sort_by` over several forums.

    Each forum has a limit of its own, because the index of the order has the forum before the column.
    """
    keys = {"order_key": F(f"revenues__{column}"), "order_id": F("id")}
    parts = [sort_by(column, posts.filter(forum_id=id), account).values(**keys)[: page.stop] for id in forum_ids]
    if not parts:
        return []
    first, *others = parts
    rows = first.union(*others, all=True).order_by("-order_key", "-order_id") if others else first
    return [row["order_id"] for row in rows[page.start : page.stop]]


def stored_revenue(account: Account, post_ids: Collection[int]) -> dict[int, tuple[int, list[Revenue]]]:
    """Return the number of clients and the revenue of each of these posts that has clients, with one statement."""
    rows = account.post_revenues.filter(post_id__in=post_ids)
    found: dict[int, tuple[int, list[Revenue]]] = {}
    for row in order_by_currency(account, rows, "post_id").values():
        found.setdefault(row["post_id"], (row["clients"], []))[1].append(as_revenue(row))
    return found


def top_revenue(account: Account, user: User, number: int) -> list[tuple[int, int, Revenue]]:
    """Return the ids of the suggestions with the highest sums of open and won deals, the number of their clients, and the revenue.

    There are at most `number` for each currency, the highest first. The figures are of the clients and deals that the user may access.
    """
    if user.access.is_limited:
        return accessible_top_revenue(account, user, number)
    rank = Window(RowNumber(), partition_by="currency", order_by=[F("total").desc(), F("post_id").desc()])
    rows = account.post_revenues.filter(Q(open_deals__gt=0) | Q(won_deals__gt=0)).annotate(rank=rank)
    columns = ("post_id", "clients", "currency", *FIGURES)
    found = rows.filter(rank__lte=number).order_by("currency", "rank").values(*columns)
    return [(row["post_id"], row["clients"], as_revenue(row)) for row in found]


def accessible_top_revenue(account: Account, user: User, number: int) -> list[tuple[int, int, Revenue]]:
    """Return the same for a user with limited access. The sums are added up here, because they are stored for all clients and deals."""
    clients = account.clients.live().accessible_to(user).values("id")
    posts: defaultdict[int, list[int]] = defaultdict(list)
    numbers: Counter[int] = Counter()
    for post_id, client_id in account.post_backers.filter(client_id__in=clients).values_list("post_id", "client_id"):
        posts[client_id].append(post_id)
        numbers[post_id] += 1
    sums: dict[tuple[int, str], list[Any]] = {}
    if posts:
        for row in revenue_by(account, user.access, "client_id", "currency", client_id__in=list(posts)):
            for post_id in posts[row["client_id"]]:
                figures = sums.setdefault((post_id, row["currency"]), [0, Decimal(0), 0, Decimal(0)])
                figures[:] = (figure + row[name] for figure, name in zip(figures, FIGURES, strict=True))
    found = [(post_id, numbers[post_id], Revenue(currency, *figures)) for (post_id, currency), figures in sums.items()]
    found.sort(key=lambda row: (row[2].currency, -row[2].open_sum - row[2].won_sum, -row[0]))
    by_currency = groupby(found, key=lambda row: row[2].currency)
    return [row for _currency, rows in by_currency for row in islice(rows, number)]


# Updating


def posts_of_users(account: Account, users: RowIds) -> list[QuerySet[Model, object]]:
    votes = account.votes.filter(user_id__in=users)
    return [values_of("post_id", votes), values_of("id", account.posts.without_tasks().filter(user_id__in=users))]


def posts_of_customers(account: Account, column: str, ids: RowIds) -> list[QuerySet[Model, object]]:
    """Return queries for the posts that clients or contacts are behind. `column` is `client_id` or `contact_id`."""
    condition = {f"{column}__in": ids}
    users = values_of("user_id", account.user_links.confirmed().filter(**condition))
    return [
        values_of("post_id", account.proxy_votes.filter(**condition)),
        values_of("id", account.posts.without_tasks().filter(**condition)),
        *posts_of_users(account, users),
    ]


def affected_posts(account: Account, kind: str, ids: RowIds) -> list[QuerySet[Model, object]]:
    """Return queries for the ids of posts whose figures depend on rows of a kind."""
    if kind == RevenueChange.Kind.USER:
        return posts_of_users(account, ids)
    if kind == RevenueChange.Kind.CONTACT:
        return posts_of_customers(account, "contact_id", ids)
    if kind == RevenueChange.Kind.CLIENT:
        contacts = values_of("id", account.contacts.filter(client_id__in=ids))
        return posts_of_customers(account, "client_id", ids) + posts_of_customers(account, "contact_id", contacts)
    return [values_of("post_id", account.post_revenues.all())]


def queue_affected_posts(account: Account, kind: str, ids: RowIds) -> None:
    first, *others = affected_posts(account, kind, ids)
    found = first.union(*others) if others else first
    changes = (
        RevenueChange(account=account, kind=RevenueChange.Kind.POST, row_id=id)
        for id in found.values_list(first.query.values_select[0], flat=True).iterator()
    )
    RevenueChange.objects.bulk_create(changes, batch_size=1000)


def figures_of(account: Account, post_id: int) -> tuple[int | None, set[int], dict[str, Revenue]]:
    """Return the forum of a suggestion, its clients, and their revenue by currency, computed from the votes, links and deals.

    The forum is None, and there are no clients, if the suggestion is a duplicate or in the trash.
    """
    user = User(account=account, role=User.Role.OWNER)
    posts = account.posts.live().without_tasks().filter(id=post_id, duplicate_from_id=None)
    forum_id = posts.values_list("forum_id", flat=True).first()
    client_ids = set() if forum_id is None else set(backers_of(account, user, post_id).values_list("id", flat=True))
    if not client_ids:
        return forum_id, client_ids, {}
    revenue = {total.currency: total for total in total_revenue(account, user, post_id)}
    revenue.setdefault(account.currency, Revenue(account.currency, 0, Decimal(0), 0, Decimal(0)))
    return forum_id, client_ids, revenue


def update_post(account: Account, post_id: int) -> None:
    """Compute and store the clients and the figures of a suggestion. The caller must hold `revenue_lock`."""
    forum_id, client_ids, revenue = figures_of(account, post_id)
    backers = account.post_backers.filter(post_id=post_id)
    stored = set(backers.values_list("client_id", flat=True))
    if stored - client_ids:
        backers.filter(client_id__any=list(stored - client_ids)).delete()
    added = [PostBacker(account=account, post_id=post_id, client_id=id) for id in client_ids - stored]
    PostBacker.objects.bulk_create(added, batch_size=1000)
    account.post_revenues.filter(post_id=post_id).exclude(currency__in=revenue).delete()
    PostRevenue.objects.bulk_create(
        [
            PostRevenue(account=account, post_id=post_id, forum_id=forum_id, clients=len(client_ids), **asdict(total))
            for total in revenue.values()
            if forum_id is not None
        ],
        update_conflicts=True,
        update_fields=["forum_id", "clients", *FIGURES],
        unique_fields=["account_id", "post_id", "currency"],
    )


def revenue_lock(account_id: int) -> tuple[str, int]:
    """Return the key of the lock under which the figures of an account are stored."""
    return ("revenue of suggestions", account_id)


@transaction.atomic
def process_batch(account_id: int) -> int:
    """Process the first due rows of an account's queue. Return their number.

    Rows of other kinds are replaced by the posts that depend on them.
    """
    locks.acquire(revenue_lock(account_id))
    due = RevenueChange.objects.filter(account_id=account_id, due_at__lte=Now()).order_by("due_at", "number")
    changes = list(due[:BATCH_SIZE].values_list("number", "kind", "row_id"))
    RevenueChange.objects.filter(account_id=account_id, number__in=[number for number, *_ in changes]).delete()
    account = Account.objects.filter(id=account_id).first()
    if account is None:
        return len(changes)
    ids_by_kind: dict[str, set[int]] = {}
    for _number, kind, row_id in changes:
        ids_by_kind.setdefault(kind, set()).add(row_id)
    post_ids = ids_by_kind.pop(RevenueChange.Kind.POST, set())
    duplicates = account.posts.filter(id__in=post_ids, duplicate_from_id__isnull=False)
    for post_id in sorted(post_ids.union(duplicates.values_list("duplicate_from_id", flat=True))):
        update_post(account, post_id)
    for kind, ids in ids_by_kind.items():
        queue_affected_posts(account, kind, ids)
    return len(changes)


# Votes of a user count only with a confirmed link. The change of such a link queues the user.
QUEUE_VOTED_POSTS = """
WITH taken AS (
    SELECT account_id, number FROM forum_votechange LIMIT %(limit)s FOR UPDATE SKIP LOCKED
), changed AS (
    DELETE FROM forum_votechange USING taken
    WHERE forum_votechange.account_id = taken.account_id AND forum_votechange.number = taken.number
    RETURNING forum_votechange.account_id, post_id, user_id
), queued AS (
    INSERT INTO team_revenuechange (account_id, kind, row_id)
    SELECT DISTINCT account_id, 'post', post_id FROM changed WHERE user_id IS NULL OR EXISTS (
        SELECT FROM crm_userlink AS link
        WHERE link.account_id = changed.account_id AND link.user_id = changed.user_id AND link.state = 'confirmed'
    )
)
SELECT count(*) FROM taken
"""
MAX_VOTE_CHANGES = 5000


def queue_voted_posts() -> None:
    """Move the posts whose votes changed from the forum's queue to that of the figures, if their clients may have changed."""
    number = MAX_VOTE_CHANGES
    while number == MAX_VOTE_CHANGES and has_time_left():
        with connection.cursor() as cursor:
            cursor.execute(QUEUE_VOTED_POSTS, {"limit": MAX_VOTE_CHANGES})
            (number,) = cursor.fetchone()


@periodic_job(minutes=1, time_limit=55)
def update_post_revenues() -> None:
    """Process the queues of all accounts. The account with the oldest due row comes first."""
    queue_voted_posts()
    due = RevenueChange.objects.order_by("due_at").values_list("account_id", flat=True)
    while has_time_left():
        account_id = due.filter(due_at__lte=Now()).first()
        if account_id is None:
            return
        process_batch(account_id)


# Comparing


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
    first, *others = affected_posts(account, RevenueChange.Kind.CLIENT, values_of("id", account.clients.all()))
    others += [values_of("post_id", rows.all()) for rows in (account.post_backers, account.post_revenues)]
    found = first.union(*others).values_list(first.query.values_select[0], flat=True)
    # A suggestion that was merged into another one counts for that one.
    merged = account.posts.filter(id__any=list(found)).values_list("id", "duplicate_from_id")
    return sorted({duplicate_from_id or id for id, duplicate_from_id in merged})


def differs(account: Account, post_id: int) -> bool:
    forum_id, client_ids, revenue = figures_of(account, post_id)
    backers = account.post_backers.filter(post_id=post_id).values_list("client_id", flat=True)
    rows = account.post_revenues.filter(post_id=post_id).values_list("forum_id", "clients", "currency", *FIGURES)
    expected = {(forum_id, len(client_ids), *astuple(total)) for total in revenue.values()}
    return set(backers) != client_ids or set(rows) != expected
