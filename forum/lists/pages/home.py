"""The lists of suggestions: of the whole forum, with filters, of a category, of the user, and the roadmap."""

from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any, cast

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext, pgettext

from accounts.account.models import Account
from accounts.statuses.models import Status, status_name
from core.db.prepared import prepared
from core.db.tenancy import fold
from core.db.text import replace_non_xml
from core.db.time_limit import TooSlow
from core.pages.base import base_url, redirect
from core.pages.errors import error_sentence
from core.pages.navigation import render_panels, render_row_panels
from forum.categories.models import Category, categories_in_order
from forum.forums.models import Forum
from forum.forums.requests import ForumRequest, ForumUserRequest
from forum.lists.facets import Facets, count_facets
from forum.lists.pages.base import (
    COLUMNS,
    DEFAULT_ORDER,
    KIND_NAMES,
    ORDER_LABELS,
    ORDERS,
    Filters,
    PostsPage,
    as_list_item,
    category_list_path,
    query_string,
    read_order,
    route_of_former_path,
    target_text,
)
from forum.lists.queries import posts_by_votes
from forum.lists.team_filters import TeamFilter, read_team_filter, team_orders
from forum.lists.whole_forum import ForumList

# Links to the lists of categories existed before the order by trend. These lists still have the newest suggestions first.
DEFAULT_CATEGORY_ORDER = "new"
# In these orders, the feed of a list has the newest suggestions first.
FEED_ORDERS = ("new", "trending")


class PostListPage(PostsPage):
    """The suggestions of the whole forum, or of the category in the path. With `q`, the results of a search in them."""

    template_name = "forum/lists/posts.html"

    def get(self, request: ForumRequest, category_name: str | None = None) -> HttpResponse:
        account, forum = request.account, request.forum
        categories = categories_in_order(account_id=account.id, forum_id=forum.id)
        category = None
        if category_name is not None:
            category = find_category(categories, category_name)
            if category is None:
                if route := route_of_former_path(category_name):
                    return redirect(route)
                raise Http404
        statuses = _statuses(account_id=account.id)
        q = self.read_query()
        # A search also finds what is done or was rejected.
        filters = Filters.read(request.GET, categories, statuses, only_open=not q)
        if category is not None:
            filters = replace(filters, category=(category,))
        default_order = DEFAULT_ORDER if category is None else DEFAULT_CATEGORY_ORDER
        further = team_orders(request.user)
        order, page = read_order(request.GET.get("order"), default_order, further), self.read_page()
        team_order = further.get(order)
        team_filter = read_team_filter(request.GET, account, request.user)
        own_order = "" if q or order == default_order else order
        links = Links(category, filters, team_filter, q, order, own_order)
        selected = (COLUMNS, page.start, page.size + 1, filters.selection, team_filter)
        forum_list = ForumList(account, forum.id, request.user, *selected)
        facets: Facets | None = None
        groups: list[FilterGroup] = []
        rows: list[tuple[Any, ...]] = []
        shows_similar = is_too_slow = False
        try:
            if q:
                rows = forum_list.search(q)
                if not rows and not filters and not team_filter and page.number == 1:
                    rows = account.posts.similar_to(
                        q, COLUMNS, account=account, forum_id=forum.id, already_searched=True
                    )
                    shows_similar = bool(rows)
            else:
                is_team = request.user is not None and request.user.is_team
                facets = count_facets(account.id, forum.id, filters.selection, include_closed=is_team)
                groups = links.filter_groups(facets, categories, statuses)
                rows = forum_list.page(team_order or order, facets=facets)
        except TooSlow:
            is_too_slow = True
        if not rows and page.number > 1 and not is_too_slow:
            raise Http404
        posts = [as_list_item(row) for row in rows[: page.size]]
        if team_order is not None or team_filter:
            panels = render_row_panels("posts", request, [post["id"] for post in posts])
            for post in posts:
                post["panel"] = panels.get(post["id"])
        in_use = {
            **filters.parameters_of_rows,
            **team_filter.parameters,
            "q": q,
            "order": own_order,
            "forum_id": forum.id,
        }
        hidden = {"order": own_order, **links.own_filters.parameters, "q": q}
        labels = ORDER_LABELS | {name: further[name].label for name in further}
        return self.render(
            http_status=422 if team_filter.errors else 200,
            section="suggestions",
            category=category,
            categories=categories,
            filters=filters,
            groups=groups,
            chips=links.chips,
            hidden_fields=[(name, value) for name, value in links.own_parameters.items() if value],
            team_filter=team_filter,
            team_filter_form=team_filter.render_form(links.path, hidden),
            errors=[error_sentence(error) for error in team_filter.errors],
            is_too_slow=is_too_slow,
            cleared=links.path + query_string(q=q),
            with_closed=links.link_filtered(filters.show_any_status()) if facets and facets.of_any_status else "",
            everywhere=links.home
            + query_string(**filters.remove("category").parameters, **team_filter.parameters, q=q),
            without_search=links.path + query_string(**links.own_parameters),
            orders=[
                (name, label, links.link_list(order="" if name == default_order else name))
                for name, label in labels.items()
            ],
            order=order,
            order_note=None if team_order is None or q else team_order.note,
            q=q,
            shows_similar=shows_similar,
            page=page,
            more=len(rows) > page.size,
            list_path=links.path,
            canonical=base_url(request) + links.link_list(page=page.number if page.number > 1 else None),
            # Search engines find the suggestions of a list with several filters in other lists.
            is_duplicate=len(links.chips) > 1,
            feed=links.link_feed(),
            description=describe(forum, category),
            title=title_of(q, category, [name for name, _path in links.chips_of_filters]),
            team_tools=render_panels("suggestions", request, in_use),
            **self.list_context(posts),
        )


class OwnPostsPage(PostsPage):
    """The posts that the user wrote or, with `list=votes`, voted for."""

    request: ForumUserRequest

    access = "user"
    template_name = "forum/lists/own_posts.html"

    def get(self, request: ForumUserRequest) -> HttpResponse:
        account, user, list_name = request.account, request.user, request.GET.get("list") or "written"
        if list_name not in ("written", "votes"):
            raise Http404
        posts = account.posts.listed_for(user).of_forum(request.forum.id)
        posts = posts.voted_by(user) if list_name == "votes" else posts.written_by(user)
        page = self.read_page()
        rows = list(posts.values_list(*COLUMNS)[page.start : page.stop])
        return self.render(
            part="posts",
            list=list_name,
            page=page,
            more=len(rows) > page.size,
            **self.list_context([as_list_item(row) for row in rows[: page.size]]),
        )


@prepared(account_id=int)
def _statuses(account_id: int) -> QuerySet[Status]:
    account = Account(id=account_id)
    return account.statuses_of_kind(Status.Kind.POST)


@dataclass(frozen=True)
class FilterOption:
    """A value of a filter, with the path of the list with this value too, or without it if it is selected."""

    name: str
    path: str
    count: int
    is_selected: bool
    # The colour of a status.
    color: str | None = None


@dataclass(frozen=True)
class FilterGroup:
    """A filter with its values."""

    key: str
    title: str
    # The lists without a chosen value: their name and path, and whether it is the present one.
    any: list[tuple[str, str, bool]]
    options: list[FilterOption]


class Links:
    """The links from a list to itself with other parameters, and to other lists."""

    def __init__(
        self, category: Category | None, filters: Filters, team_filter: TeamFilter, q: str, order: str, own_order: str
    ) -> None:
        self.filters, self.team_filter, self.q, self.order = filters, team_filter, q, order
        self.home = reverse("forum-suggestions")
        self.path = self.home if category is None else category_list_path(category.name)
        # The filters that are not part of the path.
        self.own_filters = filters if category is None else filters.remove("category")
        self.own_parameters = {**self.own_filters.parameters, **team_filter.parameters}
        self.parameters = {"order": own_order, **self.own_parameters, "q": q}

    def filter_groups(self, facets: Facets, categories: list[Category], statuses: list[Status]) -> list[FilterGroup]:
        """Return the filters with their values. Values that no post has are left out, except categories and selected values."""
        # The name, the title, the name for all values, and each value with its name, the number of its posts, and the colour of a status.
        values: list[tuple[str, str, str, list[tuple[Any, str, int, str | None]]]] = [
            (
                "category",
                gettext("Categories"),
                gettext("All categories"),
                [(row, row.name, facets.categories.get(row.id, 0), None) for row in categories],
            ),
            (
                "status",
                gettext("Status"),
                gettext("Any status"),
                [(row, status_name(row), facets.statuses.get(row.id, 0), row.color or "") for row in statuses],
            ),
            (
                "kind",
                gettext("Kind"),
                gettext("Any kind"),
                [(kind, str(name), facets.kinds.get(kind, 0), None) for kind, name in KIND_NAMES.items()],
            ),
            (
                "tag",
                gettext("Tags"),
                gettext("Any tag"),
                [(tag, tag, count, None) for tag, count in facets.tags.items()],
            ),
        ]
        groups = []
        for key, title, any_name, choices in values:
            selected = getattr(self.filters, key) or ()
            chosen = (selected,) if key == "tag" else selected
            options = [
                FilterOption(name, self.link_filtered(self.filters.toggle(key, value)), count, value in chosen, color)
                for value, name, count, color in choices
                if count or value in chosen or key == "category"
            ]
            # A filter with a single value offers no choice, unless it can be removed.
            is_offered = key == "tag" or (key != "category" and selected)
            if len(options) > 1 or (options and is_offered):
                without = self.filters.remove(key)
                any_values = [(any_name, self.link_filtered(without), not selected)]
                if key == "status" and self.filters.default:
                    has_any = self.filters.has_any_status
                    any_values = [
                        (pgettext("suggestions", "Open"), self.link_filtered(without), not selected and not has_any),
                        (any_name, self.link_filtered(self.filters.show_any_status()), has_any),
                    ]
                groups.append(FilterGroup(key, title, any_values, options))
        return groups

    def link_list(self, **parameters: object) -> str:
        """Return the path of this list with other parameters."""
        return self.path + query_string(**{**self.parameters, **parameters})

    def link_filtered(self, filters: Filters) -> str:
        """Return the path of the whole forum's list with these filters, in the same order."""
        order = "" if self.q or self.order == DEFAULT_ORDER else self.order
        return self.home + query_string(**filters.parameters, **self.team_filter.parameters, order=order, q=self.q)

    def link_feed(self) -> str:
        # Feeds do not have the orders of the team.
        order = "" if self.q or self.order in FEED_ORDERS or self.order not in ORDERS else self.order
        return reverse("forum-feed") + query_string(order=order, **self.filters.parameters, q=self.q)

    @cached_property
    def chips_of_filters(self) -> list[tuple[str, str]]:
        """The names of the selected values, without a category in the path, each with the path of the list without it."""
        in_path = len(self.filters.category) - len(self.own_filters.category)
        return [(name, self.link_filtered(without)) for name, without in self.filters.names[in_path:]]

    @property
    def chips(self) -> list[tuple[str, str]]:
        """The names of the selected values and of the filters of the team, each with the path of the list without it."""
        # The filters of the team keep the category in the path.
        of_team = self.team_filter.names.items()
        return self.chips_of_filters + [(name, self.link_list(**{parameter: ""})) for parameter, name in of_team]


def find_category(categories: list[Category], name: str) -> Category | None:
    """Return the category with the name in a path, ignoring case. Some clients write a space as `+`."""
    by_key = {row.name_key: row for row in categories}
    return by_key.get(fold(name)) or by_key.get(fold(name.replace("+", " ")))


def title_of(q: str, category: Category | None, names: list[str]) -> str:
    """Return the title of a list: the search or the category, and the names of the selected values."""
    searched = gettext("Search for “%(q)s”") % {"q": q} if q else ""
    title = searched or (category.name if category else gettext("Suggestions"))
    return ": ".join(filter(None, [title, ", ".join(names)]))


def describe(forum: Forum, category: Category | None) -> str:
    """Return the meta description of the list of a category, or of the whole forum."""
    if category is not None:
        text = gettext("Suggestions for %(forum)s about %(category)s: read them, vote, and add your own.")
        return text % {"forum": forum.name, "category": category.name}
    text = gettext("Suggestions for %(forum)s: read them, vote, and add your own.")
    return forum.description or text % {"forum": forum.name}


MAX_COLUMN_POSTS = 20


class RoadmapPage(PostsPage):
    """The roadmap: a column for each status on it. With `status`, the list of all suggestions with that status."""

    template_name = "forum/lists/roadmap.html"

    def get(self, request: ForumRequest) -> HttpResponse:
        account, forum = request.account, request.forum
        if code := replace_non_xml(request.GET.get("status", "")):
            return self.render_status(get_object_or_404(account.statuses, kind=Status.Kind.POST, code=code))
        categories = list(account.categories.of_forum(forum.id))
        category = None
        if id := request.GET.get("category"):
            category = next((row for row in categories if str(row.id) == id), None)
            if category is None:
                raise Http404
        board = account.posts.roadmap(
            (*COLUMNS, "target_on", "target_is_quarter"),
            account=account,
            forum_id=forum.id,
            category_id=None if category is None else category.id,
            limit=MAX_COLUMN_POSTS,
        )
        columns = [
            (
                status,
                [
                    as_list_item(row[:-2]) | {"target": target_text(*cast("tuple[date | None, bool]", row[-2:]))}
                    for row in rows
                ],
                more,
            )
            for status, rows, more in board
        ]
        return self.render(
            section="roadmap",
            columns=columns,
            categories=categories,
            category=category,
            canonical=base_url(request) + reverse("forum-roadmap"),
            **self.list_context([post for _, posts, _ in columns for post in posts]),
        )

    def render_status(self, status: Status) -> HttpResponse:
        request, page = self.request, self.read_page()
        selection = {"account_id": request.account.id, "forum_id": request.forum.id, "status_id": status.id}
        limits = {"start": page.start, "size": page.size + 1} if page.start else {"limit": page.size + 1}
        rows = posts_by_votes(**selection, columns=COLUMNS, **limits)
        if not rows and page.number > 1:
            raise Http404
        query = query_string(status=status.code, page=page.number if page.number > 1 else None)
        return self.render(
            "forum/lists/roadmap_status.html",
            section="roadmap",
            chosen_status=status,
            page=page,
            more=len(rows) > page.size,
            canonical=base_url(request) + reverse("forum-roadmap") + query,
            **self.list_context([as_list_item(row) for row in rows[: page.size]]),
        )
