"""The list of suggestions: of the whole forum, with filters, or of a category."""

from dataclasses import replace
from typing import Any

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from accounts.models import Status
from core.api import throttling
from core.db.tenancy import fold
from core.db.text import replace_non_xml
from core.pages.base import base_url, redirect
from core.search.queries import MAX_QUERY_LENGTH
from forum.facets import count_facets
from forum.forums import Forum
from forum.models import Category, Post
from forum.pages.filters import Filters, filter_groups
from forum.pages.reading import (
    COLUMNS,
    PostsPage,
    as_list_item,
    category_list_path,
    query_string,
    route_of_former_path,
)
from forum.requests import ForumRequest
from forum.whole_forum import page_of_forum

ORDERS = ("trending", "top", "new", "active", "commented")
ORDER_ALIASES = {"discussed": "commented", "popular": "top"}
DEFAULT_ORDER = "trending"
# The lists of categories are older than the order by trend. Links to them keep the order.
DEFAULT_CATEGORY_ORDER = "new"
# Lists whose feed has the newest suggestions first.
FEED_ORDERS = ("new", "trending")


def read_order(order: str | None, default: str) -> str:
    """Return the order with this name. Raise Http404 if there is none."""
    order = ORDER_ALIASES.get(order or default, order or default)
    if order not in ORDERS:
        raise Http404
    return order


class PostListPage(PostsPage):
    """The suggestions of the whole forum, or of the category in the path. With `q`, the results of a search in them."""

    template_name = "forum/posts.html"

    def get(self, request: ForumRequest, category_name: str | None = None) -> HttpResponse:
        account, forum = request.account, request.forum
        categories = list(account.categories.of_forum(forum.id))
        category = None
        if category_name is not None:
            category = find_category(categories, category_name)
            if category is None:
                if route := route_of_former_path(category_name):
                    return redirect(route)
                raise Http404
        statuses = list(account.statuses_of_kind(Status.Kind.POST))
        filters = Filters.read(request.GET, categories, statuses)
        if category is not None:
            filters = replace(filters, category=category)
        default_order = DEFAULT_ORDER if category is None else DEFAULT_CATEGORY_ORDER
        order, page = read_order(request.GET.get("order"), default_order), self.read_page()
        q = replace_non_xml(request.GET.get("q", ""))[:MAX_QUERY_LENGTH].strip()
        is_team = request.user is not None and request.user.is_team
        groups = []
        similar: list[tuple[Any, ...]] = []
        if q:
            throttling.count_search(request)
            rows = Post.objects.search(
                q,
                request.user,
                COLUMNS,
                account=account,
                forum_id=forum.id,
                start=page.start,
                size=page.size + 1,
                **filters.selection._asdict(),
            )
            if not rows and not filters and page.number == 1:
                # If a search of the whole forum finds nothing, similar suggestions are shown.
                similar = rows = Post.objects.similar_to(
                    q, COLUMNS, account=account, forum_id=forum.id, already_searched=True
                )
        else:
            facets = count_facets(account.id, forum.id, filters.selection, include_closed=is_team)
            groups = filter_groups(filters, facets, categories, statuses)
            rows = page_of_forum(
                request.user,
                COLUMNS,
                account=account,
                forum_id=forum.id,
                selection=filters.selection,
                matches=facets.total,
                order=order,
                start=page.start,
                size=page.size + 1,
            )
        if not rows and page.number > 1:
            raise Http404
        home = reverse("forum-suggestions")
        # The path of this list. Names of categories are quoted, because they may contain a question mark.
        path = home if category is None else category_list_path(category.name)
        # In the path of a category, the filters and the order are those of the list that differ from its own.
        own_filters = filters if category is None else filters.without("category")
        listed = {"order": "" if q or order == default_order else order, **own_filters.parameters, "q": q}
        links = {"order": "" if q or order == DEFAULT_ORDER else order, "q": q}
        return self.render(
            section="suggestions",
            category=category,
            categories=categories,
            filters=filters,
            groups=[
                (
                    group,
                    home + query_string(**group.any_filters.parameters, **links),
                    [(option, home + query_string(**option.filters.parameters, **links)) for option in group.options],
                )
                for group in groups
            ],
            chips=[
                (name, home + query_string(**filters.without(filter).parameters, **links))
                for filter, name in filters.names.items()
                if filter != "category" or category is None
            ],
            hidden_fields=[(name, value) for name, value in own_filters.parameters.items() if value],
            cleared=path + query_string(q=q),
            everywhere=home + query_string(**filters.without("category").parameters, q=q),
            without_search=path + query_string(**own_filters.parameters),
            orders=[
                (name, path + query_string(**{**listed, "order": "" if name == default_order else name}))
                for name in ORDERS
            ],
            order=order,
            q=q,
            shows_similar=bool(similar),
            page=page,
            more=len(rows) > page.size,
            list_path=path,
            canonical=base_url(request) + path + query_string(**listed, page=page.number if page.number > 1 else None),
            # A list with several filters has nothing that search engines would not find in another list.
            is_duplicate=len(own_filters.names) > 1,
            feed=reverse("forum-feed")
            + query_string(order="" if q or order in FEED_ORDERS else order, **filters.parameters, q=q),
            description=describe(forum, category),
            title=title_of(q, category, own_filters),
            **self.list_context([as_list_item(row) for row in rows[: page.size]]),
        )


def find_category(categories: list[Category], name: str) -> Category | None:
    """Return the category with the name in a path, ignoring case. Some clients write a space as `+`."""
    by_key = {row.name_key: row for row in categories}
    return by_key.get(fold(name)) or by_key.get(fold(name.replace("+", " ")))


def title_of(q: str, category: Category | None, filters: Filters) -> str:
    """Return the title of a list, which names what it contains."""
    searched = gettext("Search for “%(q)s”") % {"q": q} if q else ""
    title = searched or (category.name if category else gettext("Suggestions"))
    return ": ".join(filter(None, [title, ", ".join(filters.names.values())]))


def describe(forum: Forum, category: Category | None) -> str:
    """Return the meta description of the list of a category, or of the whole forum."""
    if category is not None:
        text = gettext("Suggestions for %(forum)s about %(category)s: read them, vote, and add your own.")
        return text % {"forum": forum.name, "category": category.name}
    return forum.description or (
        gettext("Suggestions for %(forum)s: read them, vote, and add your own.") % {"forum": forum.name}
    )
