"""The base of pages that list suggestions, the links to them, and the suggestions that the user of a request may see."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any
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


@dataclass(frozen=True)
class Filters:
    """The values by which a list is filtered. None stands for all values."""

    category: Category | None = None
    status: Status | None = None
    kind: str | None = None
    tag: str | None = None

    @classmethod
    def read(cls, parameters: QueryDict, categories: Iterable[Category], statuses: Iterable[Status]) -> "Filters":
        """Return the filters in a query string. Raise Http404 for a category, status or kind that does not exist.

        A tag that no post has is allowed, and the list is empty: links with a tag must work even after the tag was removed from all posts.
        """
        category = status = None
        if id := parameters.get("category"):
            category = next((row for row in categories if str(row.id) == id), None)
            if category is None:
                raise Http404
        if code := parameters.get("status"):
            status = next((row for row in statuses if row.code == code), None)
            if status is None:
                raise Http404
        kind = parameters.get("kind") or None
        if kind is not None and kind not in KIND_NAMES:
            raise Http404
        tag = replace_non_xml(parameters.get("tag", ""))[: Tag.MAX_LENGTH].strip() or None
        return cls(category, status, kind, tag)

    @property
    def selection(self) -> FacetSelection:
        category_id = self.category.id if self.category else None
        status_id = self.status.id if self.status else None
        return FacetSelection(category_id, status_id, self.kind, self.tag)

    @property
    def parameters(self) -> dict[str, object]:
        return {
            "category": self.category and self.category.id,
            "status": self.status and self.status.code,
            "kind": self.kind,
            "tag": self.tag,
        }

    @property
    def names(self) -> dict[str, str]:
        """The names of the selected values, by the name of their filter."""
        names = {
            "category": self.category and self.category.name,
            "status": self.status and status_name(self.status),
            "kind": self.kind and str(KIND_NAMES[self.kind]),
            "tag": self.tag,
        }
        return {filter: name for filter, name in names.items() if name}

    def __bool__(self) -> bool:
        return self != Filters()

    def remove(self, filter: str) -> "Filters":
        return replace(self, **{filter: None})
