"""The lists of posts: which posts whoever asks may see, in which order, and how the database finds them."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Self

from django.db import models
from django.db.models import F, OuterRef, Q, Subquery, Value
from django.db.models.expressions import RawSQL
from django.db.models.fields.tuple_lookups import TupleGreaterThanOrEqual, TupleLessThan

from accounts.models import Account, Status, User
from core.db.prepared import fetch, prepared
from core.db.text import is_xml_text
from core.db.trash import TrashableQuerySet
from core.search.queries import find_similar, search, search_transaction
from forum import depth
from forum.forums import Category, Forum

# What the pages show of a post besides its row; the interfaces do not read it.
RENDERED = ("content_html", "response_html")
# Whoever is not signed in: nothing is by a user of this id.
NOBODY = 0


def author_among(user: User | None) -> int | None:
    """Whose posts on the closed shelf are seen by the user; None for all, as the team does. A visitor has none."""
    if user is None:
        return NOBODY
    return None if user.is_team else user.id


class Shelf(models.IntegerChoices):
    """Where a post stands in the lists of its category: a function of its row, kept by the database."""

    NONE = 0  # a task, a duplicate, or in the trash
    OPEN = 1
    CLOSED = 2  # for its author and the team: private, or not approved yet


class PostQuerySet(TrashableQuerySet):
    ORDERS = {
        "new": ("-created_at", "-id"),
        "old": ("created_at", "id"),
        "top": ("-votes_cache", "-id"),
        "commented": ("-comments_cache", "-id"),
        "active": ("-updated_at", "-id"),
    }
    # Other names of orders that clients send.
    ORDER_ALIASES = {"popular": "top"}

    def with_names(self) -> Self:
        """With what a post is shown with besides its own row: the code of its status, and its author's name.

        A status that was joined would be the one before: while the row is waited for it may get another, and would not be
        found then.
        """
        status = Status.objects.filter(account_id=OuterRef("account_id"), id=OuterRef("status_id"))
        return self.annotate(
            status_code=Subquery(status.values("code")),
            nick=F("user__name"),
            post_id=Value(None, models.BigIntegerField(null=True)),
        ).defer(*RENDERED)

    def of_forum(self, forum_id: int) -> Self:
        return self.filter(forum_id=forum_id)

    def tasks(self) -> Self:
        """The account's tasks, open ones first, newest first."""
        return self.filter(category_id=None, trashed_at=None).order_by("closed", "-created_at", "-id")

    def erase_one(self) -> int:
        """As of anything in the trash; what was merged into it comes back first."""
        for post in self.filter(category_id__isnull=False):
            post.let_duplicates_go()
        return super().erase_one()

    def of_forums(self) -> Self:
        """Those that are no tasks."""
        return self.filter(category_id__isnull=False)

    def visible_to(self, user: User | None) -> Self:
        """The posts and tasks that are not in the trash and that the user may see; None is a visitor, who sees what is open."""
        posts = self.live()
        if user is not None and user.is_team:
            return posts
        merged = Q(duplicate_from_id__isnull=False, private=False, approved=True) & ~Q(kind="private")
        own = Q() if user is None else Q(user_id=user.id)
        return posts.exclude(category_id=None).filter(Q(shelf=Shelf.OPEN) | own | merged)

    def listed_for(self, user: User | None) -> Self:
        """What lists of forum posts show of these: as `visible_to`, but what was merged into another."""
        posts, author_id = self.live().of_forums(), author_among(user)
        closed = Q(shelf=Shelf.CLOSED) if author_id is None else Q(shelf=Shelf.CLOSED, user_id=author_id)
        return posts.filter(Q(shelf=Shelf.OPEN) | closed)

    def waiting(self) -> Self:
        """Those that the team has not approved yet, oldest first."""
        return self.live().of_forums().filter(approved=False).order_by("created_at", "id")

    def written_by(self, user: User) -> Self:
        """A user's forum posts, the last first."""
        return self.live().of_forums().filter(user_id=user.id).order_by("-created_at", "-id")

    def voted_by(self, user: User) -> Self:
        """The forum posts that a user has voted for, the last vote first."""
        return self.live().of_forums().filter(cast__user_id=user.id).order_by("-cast__created_at", "-id")

    def shown_to(
        self, user: User | None, columns: tuple[str, ...], *, forum_id: int, id: int, account_id: int | None = None
    ) -> tuple | None:
        """The columns of a post of the forum, if the user may see it; `status` is the status's code.

        For a visitor (None), `account_id` says whose forum it is.
        """
        author_id = author_among(user)
        given = {} if author_id is None else {"author_id": author_id}
        account_id = account_id if user is None else user.account_id
        return _post_shown.first(account_id=account_id, forum_id=forum_id, id=id, columns=columns, **given)

    def page(
        self,
        user: User | None,
        columns: tuple[str, ...],
        *,
        account_id: int | None = None,
        forum_id: int | None = None,
        category_id: int | None = None,
        order: str = "new",
        status_id: int | None = None,
        start: int,
        size: int,
    ) -> list[tuple]:
        """The columns of `size` posts from `start` on, as the user sees them, in order; of a category, or of a forum's first.

        They are found in one index for each order: the open shelf of the category merged with what the user may see of its
        closed one. No other row of the table is read. Far down, lists by age are entered at a mark (`forum.depth`), others are
        skipped through. For a visitor (None), `account_id` says whose they are.
        """
        given = {
            "forum_id": forum_id if category_id is None else None,
            "category_id": category_id,
            "status_id": status_id,
            "author_id": author_among(user),
        }
        account_id = account_id if user is None else user.account_id
        given = {name: value for name, value in given.items() if value is not None} | {"account_id": account_id}
        if start < depth.DEEP or order not in depth.DIRECTIONS:
            return _page_of_posts(columns=columns, order=order, **_limits(start, size), **given)
        entry = depth.find(order, start, **given)
        left = start - entry.skipped
        if entry.id is not None:
            given |= {"entry_at": entry.created_at, "entry_id": entry.id}
        rows = _page_of_posts(columns=columns, order=order, **_limits(left, size), **given)
        if entry.notes > depth.NOTES or (rows and left > 2 * depth.LENGTH):
            depth.gather(account_id, entry.category_id)
        return rows

    def search(
        self,
        text: str,
        user: User | None,
        columns: tuple[str, ...],
        *,
        account: Account,
        forum_id: int,
        category_id: int | None = None,
        status_id: int | None = None,
        start: int,
        size: int,
    ) -> list[tuple]:
        """The columns of `size` posts from `start` on, as the user sees them, that a search for `text` finds, best first."""
        rows = account.posts.listed_for(user).of_forum(forum_id)
        given = {"category_id": category_id, "status_id": status_id}
        rows = rows.filter(**{name: value for name, value in given.items() if value is not None})
        if not is_xml_text(text):
            return []
        with search_transaction(account.id, text) as query:
            ids = search(rows, query, listed=account.posts.live().of_forums(), enough=start + size)
            return rows_of(account, ids[start : start + size], columns)

    def similar_to(
        self,
        text: str,
        columns: tuple[str, ...],
        *,
        account: Account,
        forum_id: int,
        most: int = 5,
        searched: bool = False,
    ) -> list[tuple]:
        """Return the columns of at most `most` open posts of a forum whose title is similar to a text that is still being typed, or
        that was `searched` in vain; the best first."""
        rows = account.posts.live().of_forums().of_forum(forum_id).filter(shelf=Shelf.OPEN)
        if not is_xml_text(text):
            return []
        with search_transaction(account.id, text) as query:
            ids = find_similar(
                rows, query, listed=account.posts.live().of_forums(), limit=most, already_searched=searched
            )
            return rows_of(account, ids, columns)

    def roadmap(
        self, columns: tuple[str, ...], *, account: Account, forum_id: int, most: int = 50
    ) -> list[tuple[Status, list[tuple]]]:
        """What is planned, started and completed, as far as the account has such statuses, in their order, each with its open
        posts that have most votes. It is the same for everyone."""
        return [
            (
                status,
                _most_wanted(account_id=account.id, forum_id=forum_id, status_id=status.id, columns=columns, most=most),
            )
            for status in account.statuses_of_kind(Status.Kind.POST).filter(code__in=Status.ROADMAP)
        ]

    def in_status(
        self, columns: tuple[str, ...], *, account: Account, forum_id: int, status_id: int, start: int, size: int
    ) -> list[tuple]:
        """The columns of a forum's open posts of a status from `start` on, those with most votes first; the roadmap goes on so."""
        given = {"account_id": account.id, "forum_id": forum_id, "status_id": status_id, "columns": columns}
        limits = {"start": start, "size": size} if start else {"most": size}
        return _most_wanted(**given, **limits)

    def addresses(self, account_id: int, forum_id: int, *, most: int) -> list[tuple]:
        """For search engines: (None, name, None) of each category of a forum that everyone may read, in order; then of its
        newest open posts (id, None, when it changed). Nothing of a private one."""
        return fetch(ADDRESSES, [account_id, forum_id, Forum.Access.PRIVATE, Shelf.OPEN, most, most])

    def statuses_in_use(
        self, account: Account, *, forum_id: int | None = None, category_id: int | None = None
    ) -> list[Status]:
        """The statuses that open posts of a category, or of a forum, have, in their order."""
        place = {"forum_id": forum_id} if category_id is None else {"category_id": category_id}
        return _statuses_in_use(account_id=account.id, **place)


# Each category's newest, from its index, and the newest of these.
ADDRESSES = """
WITH category AS (
    SELECT category.account_id, category.id, category.name, category.position
    FROM forum_category AS category JOIN forum_forum AS forum
        ON forum.account_id = category.account_id AND forum.id = category.forum_id
    WHERE forum.account_id = %s AND forum.id = %s AND forum.access <> %s
)
(SELECT NULL::bigint, name, NULL::timestamptz FROM category ORDER BY position, id)
UNION ALL
(SELECT newest.id, NULL, newest.updated_at FROM category CROSS JOIN LATERAL (
    SELECT id, created_at, updated_at FROM forum_post
    WHERE account_id = category.account_id AND category_id = category.id AND shelf = %s
    ORDER BY created_at DESC, id DESC LIMIT %s
) AS newest ORDER BY newest.created_at DESC, newest.id DESC LIMIT %s)
"""


def rows_of(account: Account, ids: Iterable[int], columns: tuple[str, ...]) -> list[tuple]:
    """The columns of the posts of these ids, in their order."""
    rows = account.posts.filter(id__in=ids).values_list("id", *columns) if ids else []
    found: dict[int, tuple[Any, ...]] = {id: tuple(values) for id, *values in rows}
    return [found[id] for id in ids if id in found]


@prepared(account_id=int, forum_id=int, status_id=int, start=int, size=int)
def _most_wanted(account_id, forum_id, status_id, columns, most=None, start=0, size=None):
    posts = Account(id=account_id).posts.filter(forum_id=forum_id, status_id=status_id, shelf=Shelf.OPEN)
    return posts.order_by("-votes_cache", "-id").values_list(*columns)[start : start + (most or size)]


@prepared(account_id=int, forum_id=int, category_id=int)
def _statuses_in_use(account_id, forum_id=None, category_id=None):
    # Of each status, the next one in use from it on is looked up, which is the first entry there of the one index in that order.
    # A post that has just this status the database would look for among all others, in the hope to meet one soon.
    account = Account(id=account_id)
    statuses = account.statuses_of_kind(Status.Kind.POST)
    posts = account.posts.filter(shelf=Shelf.OPEN).order_by("status_id").values("status_id")
    if category_id is not None:
        next_one = posts.filter(category_id=category_id, status_id__gte=OuterRef("id"))[:1]
        return statuses.filter(id=Subquery(next_one))
    next_one = posts.filter(category_id=OuterRef("id"), status_id__gte=OuterRef(OuterRef("id")))[:1]
    categories = account.categories.filter(forum_id=forum_id).order_by().alias(next_one=Subquery(next_one))
    one = categories.filter(next_one=OuterRef("id")).values("id")[:1]
    return statuses.alias(one=Subquery(one)).filter(one__isnull=False)


@prepared(account_id=int, forum_id=int, id=int, author_id=int)
def _post_shown(account_id, forum_id, id, columns, author_id=None):
    user = User(id=author_id, role=User.Role.OWNER if author_id is None else User.Role.MEMBER)
    posts = Account(id=account_id).posts.filter(id=id).visible_to(user).of_forum(forum_id)
    return posts.values_list(*("status__code" if name == "status" else name for name in columns))


# Further than a list that is entered at a mark is ever read.
REACH = 2700


def _limits(start: int, size: int) -> dict[str, int]:
    """How much of the list is read. Of a limit that is written out, the database knows what it means for its plan, and so keeps
    that; a plan for one that it does not know would be made for a tenth of the table. What is skipped it takes for a tenth of
    what is read, so the limit is at most twice what the page needs: else it would find a plan of its own for each page cheaper."""
    if start == 0:
        return {"first": size}
    if start + size > REACH:
        return {"start": start, "size": size, "stop": start + size}
    reach = size
    while reach < start + size:
        reach *= 2
    return {"start": start, "first": size, "reach": reach}


@prepared(
    account_id=int,
    forum_id=int,
    category_id=int,
    status_id=int,
    author_id=int,
    start=int,
    size=int,
    stop=int,
    entry_at=datetime,
    entry_id=int,
)
def _page_of_posts(
    account_id,
    columns,
    order,
    first=None,
    reach=None,
    start=0,
    size=None,
    stop=None,
    forum_id=None,
    category_id=None,
    status_id=None,
    author_id=None,
    entry_at=None,
    entry_id=None,
):
    size, stop = first or size, reach or first or stop
    posts, order_by = Account(id=account_id).posts.all(), PostQuerySet.ORDERS[order]
    if category_id is None:
        first = Category.objects.filter(account_id=account_id).of_forum(forum_id).values("id")[:1]
        shelf = posts.filter(category_id=Subquery(first))
    else:
        shelf = posts.filter(category_id=category_id)
    if status_id is not None:
        shelf = shelf.filter(status_id=status_id)
    if entry_id is not None:
        beyond = TupleLessThan if order == "new" else TupleGreaterThanOrEqual
        shelf = shelf.filter(beyond((F("created_at"), F("id")), (entry_at, entry_id)))
    closed = shelf.filter(shelf=Shelf.CLOSED)
    if author_id is not None:
        closed = closed.filter(user_id=author_id)
    # Each side is cut off where the page ends; without that, the database would sort them whole to merge them.
    sides = [
        side.values(*(name.removeprefix("-") for name in order_by)).order_by(*order_by)[:stop]
        for side in (shelf.filter(shelf=Shelf.OPEN), closed)
    ]
    page = sides[0].union(sides[1], all=True).order_by(*order_by)[start : start + size]
    text, values = page.query.sql_with_params()
    found = posts.filter(id__in=RawSQL(f"SELECT id FROM ({text}) AS page", values))  # noqa: S608, S611
    return found.order_by(*order_by).values_list(*columns)
