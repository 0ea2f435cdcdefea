"""The lists of posts: visibility, order and the queries of pages."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self, cast

from django.db import models
from django.db.models import Exists, F, OuterRef, Q, Subquery, Value
from django.db.models.expressions import Combinable, RawSQL

from accounts.access.models import AccessQuerySet
from accounts.account.models import Account
from accounts.statuses.models import Status
from accounts.users.models import User
from core.db.prepared import fetch, prepared
from core.db.text import is_xml_text
from core.rows.access import Access
from core.search.queries import find_similar, search_transaction
from forum.categories.models import Category
from forum.forums.membership import READABLE
from forum.forums.models import Forum
from forum.lists.facets import FacetSelection, condition_of

# The posts of a forum that the team has not approved yet.
UNAPPROVED = Q(approved=False, trashed_at=None, category_id__isnull=False)
# The posts of a forum that were not deleted or merged, and those of them in the tabs of the inbox (`forum.inbox.tabs`).
LISTED = Q(trashed_at=None, category_id__isnull=False, duplicate_from_id=None)
NEW = Q(handled_at=None) & LISTED
UNANSWERED = Q(answered_at=None, response_user_id=None, closed=False, approved=True) & LISTED
MINE = Q(closed=False, responsible_id__isnull=False) & LISTED
# Columns that pages show and the APIs do not read.
HTML_COLUMNS = ("content_html", "response_html")
# The id that stands for a visitor who is not signed in. No user has this id.
VISITOR_ID = 0

# The number of posts with similar titles.
MAX_SIMILAR = 5
# The limits of the roadmap: of its columns, and of the posts in all of them.
MAX_ROADMAP_STATUSES, MAX_ROADMAP_POSTS = 10, 60

# Names of columns, or expressions.
Columns = tuple[str | Combinable, ...]


def author_filter(user: User | None) -> dict[str, int]:
    """Return the argument `author_id` of a prepared query: the result of `closed_author_id`, or none for the team."""
    author_id = closed_author_id(user)
    return {} if author_id is None else {"author_id": author_id}


def closed_author_id(user: User | None) -> int | None:
    """Return the id of the only author whose closed posts the user sees, or None for the team, which sees all."""
    if user is None:
        return VISITOR_ID
    return None if user.is_team else user.id


class PostKind(models.TextChoices):
    SUGGESTION = "suggestion"
    ERROR = "error"
    QUESTION = "question"
    PRAISE = "praise"
    PRIVATE = "private"


class Visibility(models.IntegerChoices):
    """The visibility partition of a post in its category. The database computes it from the row (column `visibility`)."""

    NONE = 0  # a task, a duplicate, or in the trash
    OPEN = 1
    CLOSED = 2  # for its author and the team: private, or not approved yet


class PostQuerySet(AccessQuerySet[Any]):
    ORDERS = {
        "new": ("-created_at", "-id"),
        "old": ("created_at", "id"),
        "top": ("-votes_cache", "-id"),
        "commented": ("-comments_cache", "-id"),
        "active": ("-updated_at", "-id"),
    }
    # The orders of pages. The APIs do not have the order by trend.
    PAGE_ORDERS = {**ORDERS, "trending": ("-trending", "-id")}
    # The orders whose indexes are those of `PostSortKey`.
    SORT_KEY_ORDERS = frozenset(PAGE_ORDERS) - {"new", "old"}
    # Old names of orders that clients still send.
    ORDER_ALIASES = {"popular": "top"}

    def with_names(self) -> Self:
        """Annotate each post with the code of its status and the name of its author.

        The status comes from a subquery, not from a join. If the status of a post changes while a query waits for the lock of the row,
        PostgreSQL compares the changed row with the status that it joined before, and drops the row.
        """
        status = Status.objects.filter(account_id=OuterRef("account_id"), id=OuterRef("status_id"))
        return self.annotate(
            status_code=Subquery(status.values("code")),
            nick=F("user__name"),
            post_id=Value(None, models.BigIntegerField(null=True)),
        ).defer(*HTML_COLUMNS)

    def limited_to(self, access: Access) -> Self:
        """Return all forum posts, and the tasks of the access."""
        return self.filter(Q(category_id__isnull=False) | access.condition()) if access.is_limited else self

    def of_forum(self, forum_id: int) -> Self:
        return self.filter(forum_id=forum_id)

    def tasks(self) -> Self:
        """Return the tasks that are not in the trash, open ones first, newest first."""
        return self.filter(category_id=None, trashed_at=None).order_by("closed", "-created_at", "-id")

    def erase_one(self) -> int:
        """Erase the post in this queryset, after detaching its duplicates. Return the number of erased rows."""
        for post in cast("Iterable[Any]", self.without_tasks()):
            post.detach_duplicates()
        return super().erase_one()

    def without_tasks(self) -> Self:
        return self.filter(category_id__isnull=False)

    def visible_to(self, user: User | None) -> Self:
        """Return the posts and tasks that the user may see and that are not in the trash. None is a visitor.

        A member sees posts of the forums that they may read. To find these takes a fixed number of statements (`Forum.visible_to`).
        """
        posts = self.visible_in_forum(user)
        if user is not None and user.is_team:
            return posts
        if user is None:
            readable = Forum.objects.visible_to(None).filter(account_id=OuterRef("account_id"), id=OuterRef("forum_id"))
            return posts.filter(Exists(readable))
        return posts.filter(forum_id__in=user.account.forums.visible_to(user).values("id"))

    def visible_in_forum(self, user: User | None) -> Self:
        """Return the posts and tasks as `visible_to` does, for a user who may read their forum: the caller has checked that."""
        posts = self.live()
        if user is not None and user.is_team:
            return posts.accessible_to(user)
        merged = Q(duplicate_from_id__isnull=False, private=False, approved=True) & ~Q(kind="private")
        own = Q() if user is None else Q(user_id=user.id)
        return posts.exclude(category_id=None).filter(Q(visibility=Visibility.OPEN) | own | merged)

    def listed_for(self, user: User | None) -> Self:
        """Return the posts that lists show to the user: those of `visible_in_forum` without tasks and duplicates."""
        author_id = closed_author_id(user)
        own = Q() if author_id is None else Q(user_id=author_id)
        closed = Q(visibility=Visibility.CLOSED) & own
        return self.live().without_tasks().filter(Q(visibility=Visibility.OPEN) | closed)

    def selected(self, selection: FacetSelection) -> Self:
        """Return the posts of the selection."""
        rows = self if selection.tag is None else self.filter(tags__contains=[selection.tag])
        for column, values in selection.values.items():
            rows = rows.filter(**condition_of(column, values))
        return rows

    def open(self) -> Self:
        """Return the posts that everyone who may read their forum sees."""
        return self.filter(visibility=Visibility.OPEN)

    def unapproved(self) -> Self:
        """Return the posts that the team has not approved yet, oldest first."""
        return self.filter(UNAPPROVED).order_by("created_at", "id")

    def written_by(self, user: User) -> Self:
        """Return the forum posts of a user, newest first."""
        return self.live().without_tasks().filter(user_id=user.id).order_by("-created_at", "-id")

    def voted_by(self, user: User) -> Self:
        """Return the forum posts that a user has voted for, latest vote first."""
        return self.live().without_tasks().filter(votes__user_id=user.id).order_by("-votes__created_at", "-id")

    def similar_to(
        self, text: str, columns: Columns, *, account: Account, forum_id: int, already_searched: bool = False
    ) -> list[tuple[Any, ...]]:
        """Return the columns of at most `MAX_SIMILAR` open posts of a forum whose titles are similar to the text, best matches first.

        The text may be incomplete. `already_searched` says that `ForumList.search` found nothing for the text.
        """
        if not is_xml_text(text):
            return []
        posts = account.posts.live().without_tasks()
        rows = posts.of_forum(forum_id).open()
        with search_transaction(account.id, text) as query:
            ids = find_similar(rows, query, list_rows=posts, limit=MAX_SIMILAR, already_searched=already_searched)
            return values_by_id(account, ids, columns)

    def roadmap(
        self, columns: Columns, *, account: Account, forum_id: int, category_id: int | None = None, limit: int = 50
    ) -> list[tuple[Status, list[tuple[object, ...]], bool]]:
        """Return the first MAX_ROADMAP_STATUSES statuses that are on the roadmap, each with its open posts, and whether the status has more posts.

        The posts with a target day come first, by that day, then those with most votes.

        A status has at most `limit` posts, and all statuses together at most MAX_ROADMAP_POSTS. The roadmap is the same for all readers.
        """
        statuses = list(account.statuses_of_kind(Status.Kind.POST).filter(on_roadmap=True)[:MAX_ROADMAP_STATUSES])
        if not statuses:
            return []
        limit = min(limit, MAX_ROADMAP_POSTS // len(statuses))
        ids = [status.id for status in statuses]
        # The value of a parameter would not be known to a generic plan.
        in_category = "" if category_id is None else "AND category_id = %s"
        place = [account.id, forum_id, *([] if category_id is None else [category_id]), limit + 1]
        places = fetch(ROADMAP_POSTS.format(in_category=in_category), [ids, *place, *place, limit + 1])
        rows = _rows_by_id(account, [id for _status_id, id in places], columns)
        posts: dict[int, list[tuple[object, ...]]] = {id: [] for id in ids}
        for status_id, id in places:
            if id in rows:
                posts[status_id].append(rows[id])
        return [(status, posts[status.id][:limit], len(posts[status.id]) > limit) for status in statuses]


# The query reads the newest posts of each category from an index, and returns the newest of all.
SITEMAP_ENTRIES = """
WITH category AS (
    SELECT category.account_id, category.id, category.name, category.position
    FROM forum_category AS category JOIN forum_forum AS forum
        ON forum.account_id = category.account_id AND forum.id = category.forum_id
    WHERE forum.account_id = %s AND forum.id = %s AND forum.access = ANY(%s)
)
(SELECT NULL::bigint, name, NULL::timestamptz FROM category ORDER BY position, id)
UNION ALL
(SELECT newest.id, newest.title, newest.updated_at FROM category CROSS JOIN LATERAL (
    SELECT id, title, created_at, updated_at FROM forum_post
    WHERE account_id = category.account_id AND category_id = category.id AND visibility = %s
    ORDER BY created_at DESC, id DESC LIMIT %s
) AS newest ORDER BY newest.created_at DESC, newest.id DESC LIMIT %s)
"""


def sitemap_entries(account_id: int, forum_id: int, *, limit: int) -> list[tuple[Any, ...]]:
    """Return (None, name, None) for each category of a forum, then (id, title, updated_at) for its newest open posts.

    A forum that not everyone may read has no entries.
    """
    return fetch(SITEMAP_ENTRIES, [account_id, forum_id, list(READABLE), Visibility.OPEN, limit, limit])


# The condition of a partial index. As a parameter of a prepared statement, the value would not be known to a generic plan.
IS_OPEN = f"visibility = {Visibility.OPEN:d}"
# For each status, the query reads its first posts from two indexes. With NOT EXISTS, it would scan the posts to find those with a target.
ROADMAP_POSTS = f"""
SELECT status_id, post.id
FROM unnest(%s::bigint[]) WITH ORDINALITY AS status (status_id, place) CROSS JOIN LATERAL (
    (SELECT id, target_on, 0 AS votes_cache FROM forum_post
    WHERE account_id = %s AND forum_id = %s AND status_id = status.status_id AND {IS_OPEN} AND target_on IS NOT NULL {{in_category}}
    ORDER BY target_on, id LIMIT %s)
    UNION ALL
    (SELECT id, NULL, votes_cache FROM forum_postsortkey AS key
    WHERE account_id = %s AND forum_id = %s AND status_id = status.status_id AND {IS_OPEN} {{in_category}} AND (
        SELECT target_on FROM forum_post AS post WHERE post.account_id = key.account_id AND post.id = key.id
    ) IS NULL
    ORDER BY votes_cache DESC, id DESC LIMIT %s)
    ORDER BY target_on, votes_cache DESC, id DESC LIMIT %s
) AS post ORDER BY place, target_on, votes_cache DESC, id DESC
"""  # noqa: S608


def _rows_by_id(account: Account, ids: Sequence[int], columns: Columns) -> dict[int, tuple[object, ...]]:
    rows = account.posts.filter(id__in=ids).values_list("id", *columns) if ids else []
    return {id: tuple(values) for id, *values in rows}


def values_by_id(account: Account, ids: Sequence[int], columns: Columns) -> list[tuple[object, ...]]:
    """Return the columns of the posts with these ids, in the order of the ids."""
    values_by_id = _rows_by_id(account, ids, columns)
    return [values_by_id[id] for id in ids if id in values_by_id]


@prepared(account_id=int, forum_id=int, status_id=int, start=int, size=int)
def posts_by_votes(
    account_id: int,
    forum_id: int,
    status_id: int,
    columns: Columns,
    limit: int | None = None,
    start: int = 0,
    size: int | None = None,
) -> models.QuerySet[models.Model]:
    """Build the query for a page: the first `limit` posts (a literal in SQL), or `size` posts from `start` on (two parameters)."""
    account, order_by = Account(id=account_id), PostQuerySet.ORDERS["top"]
    is_open = RawSQL(IS_OPEN, [], output_field=models.BooleanField())  # noqa: S611
    keys = account.post_sort_keys.filter(is_open, forum_id=forum_id, status_id=status_id)
    page = keys.order_by(*order_by).values("id")[start : start + (limit or size or 0)]
    return account.posts.filter(id__in=page).order_by(*order_by).values_list(*columns)


@prepared(account_id=int, forum_id=int, id=int, author_id=int)
def post_values(
    account_id: int, forum_id: int, id: int, columns: Columns, author_id: int | None = None
) -> models.QuerySet[models.Model]:
    """Build the query for a post that the user, who may read the forum, may see. The column `status` is the code of the status."""
    role = User.Role.OWNER if author_id is None else User.Role.MEMBER
    user = User(id=author_id or VISITOR_ID, role=role)
    posts = Account(id=account_id).posts.filter(id=id).visible_in_forum(user).of_forum(forum_id)
    return posts.values_list(*("status__code" if name == "status" else name for name in columns))


# The highest end of a page with a literal limit.
MAX_LITERAL_STOP = 2700


def page_limits(start: int, size: int) -> dict[str, int]:
    """Return the limits of a page as arguments of `page_of_posts`.

    PostgreSQL considers a literal limit in its plan, and keeps the plan. For a limit that is a parameter, it plans to read a tenth of
    the table, and for an OFFSET that is a parameter, to skip a tenth of the rows. The literal is at most twice as large as needed,
    because with a larger literal PostgreSQL would plan each page anew.
    """
    if start == 0:
        return {"literal_size": size}
    if start + size > MAX_LITERAL_STOP:
        return {"start": start, "size": size, "stop": start + size}
    literal_stop = size
    while literal_stop < start + size:
        literal_stop *= 2
    return {"start": start, "literal_size": size, "literal_stop": literal_stop}


@prepared(
    account_id=int,
    forum_id=int,
    category_id=int,
    status_id=int,
    status_ids=list,
    author_id=int,
    start=int,
    size=int,
    stop=int,
)
def page_of_posts(
    account_id: int,
    columns: Columns,
    order: str,
    literal_size: int | None = None,
    literal_stop: int | None = None,
    start: int = 0,
    size: int | None = None,
    stop: int | None = None,
    forum_id: int = 0,
    category_id: int | None = None,
    whole_forum: bool = False,
    status_id: int | None = None,
    status_ids: list[int] | None = None,
    author_id: int | None = None,
) -> models.QuerySet[models.Model]:
    """Build the query for a page. `stop` is the offset at which the scan of each partition ends."""
    size, stop = literal_size or size or 0, literal_stop or literal_size or stop
    conditions: dict[str, object] = {}
    if whole_forum:
        conditions["forum_id"] = forum_id
    elif category_id is None:
        first = Category.objects.filter(account_id=account_id).of_forum(forum_id).values("id")[:1]
        conditions["category_id"] = Subquery(first)
    else:
        conditions["category_id"] = category_id
    if status_id is not None:
        conditions["status_id"] = status_id
    if status_ids is not None:
        conditions["status_id__any"] = status_ids
    return merge_partitions(
        Account(id=account_id), author_id, order, conditions, start=start, size=size, stop=stop or start + size
    ).values_list(*columns)


def merge_partitions(
    account: Account,
    author_id: int | None,
    order: str,
    conditions: dict[str, Any],
    select: Callable[[Any], models.QuerySet[models.Model]] | None = None,
    *,
    start: int,
    size: int,
    stop: int,
) -> models.QuerySet[models.Model]:
    """Return the posts of a page, merged from the open partition and from the closed posts that the reader may see.

    `conditions` are values of columns that posts and their sort keys have. `select` selects posts by other columns.
    """
    order_by = PostQuerySet.PAGE_ORDERS[order]

    def partition(visibility: Visibility, **more: object) -> models.QuerySet[models.Model]:
        # A member has few closed posts. They are sorted.
        if order not in PostQuerySet.SORT_KEY_ORDERS or more:
            rows = account.posts.filter(**conditions, visibility=visibility, **more)
            return rows if select is None else select(rows)
        keys = account.post_sort_keys.filter(**conditions, visibility=visibility)
        return keys if select is None else keys.filter(Exists(select(account.posts.filter(id=OuterRef("id")))))

    closed = {} if author_id is None else {"user_id": author_id}
    # Each partition has a limit of its own. Without it, PostgreSQL would sort whole partitions to merge them.
    partitions = [
        rows.values(*(name.removeprefix("-") for name in order_by)).order_by(*order_by)[:stop]
        for rows in (partition(Visibility.OPEN), partition(Visibility.CLOSED, **closed))
    ]
    page = partitions[0].union(partitions[1], all=True).order_by(*order_by)[start : start + size]
    text, values = page.query.sql_with_params()
    posts_of_page = account.posts.filter(id__in=RawSQL(f"SELECT id FROM ({text}) AS page", values))  # noqa: S608, S611
    return posts_of_page.order_by(*order_by)
