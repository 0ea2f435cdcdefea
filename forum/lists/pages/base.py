"""The base of pages that list suggestions, the links to them, and the suggestions that the user of a request may see."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode

from django.db.models import Model, QuerySet
from django.db.models.functions import Left
from django.http import Http404, QueryDict
from django.urls import reverse
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.statuses.models import Status, status_name
from accounts.tags.models import Tag
from accounts.users.names import public_name
from core.db.prepared import prepared
from core.db.text import replace_non_xml
from core.http import throttling
from core.pages.formatting import date_text
from core.registry import registry
from core.rows.access import prepared_access
from core.rows.trash import limit
from core.search.queries import MAX_QUERY_LENGTH
from forum.categories.models import Category
from forum.forums.pages.base import ForumPage, PostNotFound
from forum.forums.requests import ForumRequest
from forum.lists.facets import FacetSelection
from forum.lists.queries import PostKind, PostQuerySet
from forum.texts.markdown import excerpt

if TYPE_CHECKING:
    from forum.posts.models import Post

T = TypeVar("T")

# Lengths in characters: of the Markdown that an excerpt is made from, and of an excerpt.
EXCERPT_SOURCE_LENGTH, EXCERPT_LENGTH = 600, 200
COLUMNS = (
    "id",
    "title",
    Left("content", EXCERPT_SOURCE_LENGTH),
    "status__code",
    "status__name",
    "status__color",
    "votes_cache",
    "comments_cache",
    "created_at",
    "user__name",
    "private",
    "kind",
    "approved",
    "tags",
    "client_id",
    "contact_id",
)
NAMES = tuple(column if isinstance(column, str) else "content" for column in COLUMNS)


def pop_status(row: dict[str, Any]) -> Status:
    """Take the columns of the status from a row, and return the status."""
    columns = {name: row.pop(f"status__{name}") for name in ("code", "name", "color")}
    return Status(kind=Status.Kind.POST, **columns)


def as_list_item(row: tuple[Any, ...]) -> dict[str, Any]:
    """Return a row of `COLUMNS` as the templates of lists expect it."""
    post = dict(zip(NAMES, row, strict=True))
    post["status"] = pop_status(post)
    post["excerpt"] = excerpt(post["content"], max_length=EXCERPT_LENGTH)
    post["nick"] = public_name(post["user__name"])
    post["is_private"] = post["private"] or post["kind"] == PostKind.PRIVATE
    post["is_for_customer"] = post["client_id"] is not None or post["contact_id"] is not None
    return post


def target_text(target_on: date | None, is_quarter: bool) -> str:
    """Return the day or the quarter for which a suggestion is planned, or an empty text."""
    if target_on is None or not is_quarter:
        return date_text(target_on) if target_on is not None else ""
    return gettext("Q%(quarter)d %(year)d") % {"quarter": target_on.month // 3, "year": target_on.year}


def category_list_path(category_name: str) -> str:
    """Return the path of a category's list."""
    # `reverse` does not quote some characters, such as &.
    return reverse("forum-home") + quote(category_name, safe="")


def query_string(**parameters: object) -> str:
    """Return the query string of a URL, without empty parameters."""
    parameters = {name: value for name, value in parameters.items() if value not in ("", None)}
    return f"?{urlencode(parameters)}" if parameters else ""


ORDER_LABELS: dict[str, object] = {
    "trending": pgettext_lazy("order", "Trending"),
    "top": pgettext_lazy("order", "Top"),
    "new": pgettext_lazy("order", "New"),
    "active": pgettext_lazy("order", "Active"),
    "commented": pgettext_lazy("order", "Discussed"),
}
ORDERS = tuple(ORDER_LABELS)
ORDER_ALIASES = {"discussed": "commented", "popular": "top"}
DEFAULT_ORDER = "trending"


def read_order(order: str | None, default: str, further: Collection[str] = ()) -> str:
    """Return the order with this name. Raise Http404 if it is neither one of `ORDERS` nor of `further`."""
    order = ORDER_ALIASES.get(order or default, order or default)
    if order not in ORDERS and order not in further:
        raise Http404
    return order


# An older server had pages at these paths. A path redirects to the route of the page that replaces it, unless a category has that
# name. The profile has the button to sign out.
ROUTES_BY_FORMER_PATH = {"login": "accounts-sign-in", "logout": "accounts-profile", "account": "accounts-account"}


def route_of_former_path(path: str | None) -> str | None:
    """Return the route of the page that replaces a page of an older server, or None."""
    return ROUTES_BY_FORMER_PATH.get((path or "").lower())


class PostsPage(ForumPage):
    def read_query(self) -> str:
        """Return the text to search for. Count the search against the limit of searches."""
        q = replace_non_xml(self.request.GET.get("q", ""))[:MAX_QUERY_LENGTH].strip()
        if q:
            throttling.count_search(self.request)
        return q

    def list_context(self, posts: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the posts and the ids of those that the user has voted for. For the team, add the customers' names to the posts."""
        account, user = self.request.account, self.request.user
        if user is not None and user.is_team:
            ids = {id for post in posts for id in (post["client_id"], post["contact_id"]) if id is not None}
            if ids:
                names = dict(_customer_names(account_id=account.id, ids=list(ids), **user.access.arguments))
                for post in posts:
                    post["customer"] = names.get(post["contact_id"]) or names.get(post["client_id"])
        voted = account.votes.voted_post_ids(user, [post["id"] for post in posts]) if user is not None else set()
        return {"posts": posts, "voted": voted}


@prepared(account_id=int, ids=list, responsible_ids=list)
def _customer_names(
    account_id: int, ids: list[int], responsible_ids: Collection[int] | None = None
) -> QuerySet[Model, object]:
    """Build the query for the ids and names of customers. All resources of an account share one sequence of ids."""
    access = prepared_access(responsible_ids)
    queries = [
        limit(customer.rows_of(Account(id=account_id)), access).filter(id__any=ids).order_by().values_list("id", "name")
        for customer in registry.customers()
    ]
    found: QuerySet[Model, object] = queries[0].union(*queries[1:], all=True)
    return found


def on_behalf_of(customer: str | None) -> str:
    """Return a phrase with the customer for whom the team wrote a post. The context has the name only if the user may know it."""
    return gettext("on behalf of %(name)s") % {"name": customer} if customer else gettext("on behalf of a customer")


class PostMerged(Http404):
    """The post was merged into `original`, which the user may see."""

    def __init__(self, original: "Post"):
        super().__init__(original.id)
        self.original = original


def visible_posts(request: ForumRequest) -> PostQuerySet:
    """Return the posts of the request's forum that its user may see."""
    return request.account.posts.visible_in_forum(request.user).of_forum(request.forum.id).without_tasks()


def lock_post(request: ForumRequest, id: int, *, include_merged: bool = False) -> "Post":
    """Return the post, locked until the transaction ends. Raise PostNotFound or, unless `include_merged`, PostMerged."""
    return find_post(request, id, locked=True, include_merged=include_merged)


def find_post(request: ForumRequest, id: int, *, locked: bool = False, include_merged: bool = False) -> "Post":
    """Return the post. Raise PostNotFound or, unless `include_merged`, PostMerged."""
    rows = visible_posts(request)
    post: Post | None = (rows.locked() if locked else rows).filter(id=id).first()
    if post is None:
        raise PostNotFound
    if post.duplicate_from_id is not None and not include_merged:
        original = visible_posts(request).filter(id=post.duplicate_from_id).first()
        raise PostMerged(original) if original is not None else PostNotFound
    post.requires_approval = request.forum.approval
    return post


# The kinds that a form offers.
KINDS = [
    (PostKind.SUGGESTION, _("Suggestion")),
    (PostKind.ERROR, _("Bug")),
    (PostKind.QUESTION, _("Question")),
    (PostKind.PRAISE, _("Praise")),
]
KIND_NAMES: dict[str, object] = {**{kind.value: name for kind, name in KINDS}, PostKind.PRIVATE.value: _("Private")}


def kind_name(kind: str) -> str:
    return str(KIND_NAMES.get(kind, kind))


# The values of a filter in a parameter, and a comma in one of them. The parameter `status` has `ANY_STATUS` for a list with closed suggestions.
SEPARATOR, QUOTED_SEPARATOR, ANY_STATUS = ",", "%2C", "*"
# The most values of a filter that count.
MAX_VALUES = 50


@dataclass(frozen=True)
class Filters:
    """The values by which a list is filtered. A filter without values stands for all."""

    category: tuple[Category, ...] = ()
    status: tuple[Status, ...] = ()
    kind: tuple[str, ...] = ()
    tag: str | None = None
    # True if no status is chosen and closed suggestions are shown too.
    has_any_status: bool = False
    # The open statuses, which are chosen by default. Empty if the list has all statuses by default.
    default: tuple[Status, ...] = field(default=(), compare=False)

    @classmethod
    def read(
        cls,
        parameters: QueryDict,
        categories: Iterable[Category],
        statuses: Iterable[Status],
        *,
        only_open: bool = False,
    ) -> "Filters":
        """Return the filters in a query string. Raise Http404 for a category, status or kind that does not exist.

        With `only_open`, the open statuses are chosen by default. A tag that no post has is allowed, and the list is empty: links with a tag
        must work even after the tag was removed from all posts.
        """
        text = parameters.get("status", "")
        tag = replace_non_xml(parameters.get("tag", ""))[: Tag.MAX_LENGTH].strip() or None
        return cls(
            find_values(parameters.get("category", ""), categories, lambda row: str(row.id)),
            () if text == ANY_STATUS else find_values(text, statuses, lambda row: row.code),
            find_values(parameters.get("kind", ""), KIND_NAMES, str),
            tag,
            text == ANY_STATUS and only_open,
            tuple(row for row in statuses if not row.closed)
            if only_open and any(row.closed for row in statuses)
            else (),
        )

    @property
    def selection(self) -> FacetSelection:
        statuses = self.status or (() if self.has_any_status else self.default)
        category_ids, status_ids = (tuple(row.id for row in rows) for rows in (self.category, statuses))
        return FacetSelection(category_ids, status_ids, self.kind, self.tag)

    @property
    def parameters(self) -> dict[str, object]:
        return {
            "category": SEPARATOR.join(str(row.id) for row in self.category),
            "status": ANY_STATUS if self.has_any_status else join_codes(self.status),
            "kind": SEPARATOR.join(self.kind),
            "tag": self.tag,
        }

    @property
    def parameters_of_rows(self) -> dict[str, object]:
        """The parameters with which a list without a default has the same rows."""
        shown = self.status or (() if self.has_any_status else self.default)
        return self.parameters | {"status": join_codes(shown)}

    @property
    def names(self) -> list[tuple[str, "Filters"]]:
        """The names of the selected values, each with the filters without it."""
        names = [(row.name, self.toggle("category", row)) for row in self.category]
        names += [(status_name(row), self.toggle("status", row)) for row in self.status]
        names += [(gettext("Any status"), self.remove("status"))] if self.has_any_status else []
        names += [(kind_name(kind), self.toggle("kind", kind)) for kind in self.kind]
        return names + ([(self.tag, self.remove("tag"))] if self.tag else [])

    def __bool__(self) -> bool:
        return self != Filters()

    def remove(self, filter: str) -> "Filters":
        """Return the filters without the values of one."""
        return self._change(filter, None if filter == "tag" else ())

    def toggle(self, filter: str, value: Any) -> "Filters":
        """Return the filters with one value more, or without it. A tag takes the place of another one."""
        if filter == "tag":
            return self._change(filter, value)
        values = getattr(self, filter)
        chosen = tuple(each for each in values if each != value) if value in values else (*values, value)
        return self._change(filter, chosen)

    def show_any_status(self) -> "Filters":
        return replace(self, status=(), has_any_status=True)

    def _change(self, filter: str, chosen: Any) -> "Filters":
        changes = {filter: chosen} | ({"has_any_status": False} if filter == "status" else {})
        return replace(self, **changes)


def join_codes(statuses: Iterable[Status]) -> str:
    return SEPARATOR.join(row.code.replace(SEPARATOR, QUOTED_SEPARATOR) for row in statuses)


def find_values(text: str, rows: Iterable[T], name_of: Callable[[T], str]) -> tuple[T, ...]:
    """Return the values that a parameter names, without duplicates. Raise Http404 for a name that does not exist."""
    if not text:
        return ()
    values = {name_of(row): row for row in rows}
    # A single status may have a comma in its code, as in addresses from before the filters had several values.
    names = [text] if text in values else [part.replace(QUOTED_SEPARATOR, SEPARATOR) for part in text.split(SEPARATOR)]
    if len(names) > MAX_VALUES or any(name not in values for name in names):
        raise Http404
    return tuple(values[name] for name in dict.fromkeys(names))
