"""The routes of the Forum API. Those of the first page and of the categories are also pages (`page_or_view`)."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.http import HttpResponse
from django.urls import path, register_converter
from django.urls.converters import StringConverter
from django.views.decorators.csrf import csrf_exempt

from accounts.account_creation.pages import Landing
from accounts.hosts.requests import TenantRequest
from core.api.routing import ITEM
from core.http.formats import expects_html
from core.pages.base import redirect
from forum.categories.models import Category
from forum.forums.models import Forum
from forum.lists.pages.base import route_of_former_path
from forum.lists.pages.home import PostListPage
from forum.xml.views import CategoryViewSet, XMLPostViewSet, XMLUserViewSet


class CategoryNameConverter(StringConverter):
    """A path segment without the suffix of a format. Paths with a suffix are never lists."""

    regex = r"[^/]+(?<!\.xml)(?<!\.json)"


register_converter(CategoryNameConverter, "category_name")


def may_be_category(request: TenantRequest, category_name: str) -> bool:
    """Return whether the forum may have a category of that name. For a private forum it is always true, to keep its names secret."""
    account_id, forum_id = request.address.site_key
    forum = Forum.objects.get(account_id=account_id, id=forum_id)
    return (
        not forum.may_be_read_by(None) or Category.objects.find_by_name(account_id, forum_id, category_name) is not None
    )


def page_or_view(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Return a view that shows the page of a list, or the first page of the service, to browsers, and calls `view` for other clients."""
    page, landing = PostListPage.as_view(), Landing.as_view()

    # API clients may send the parameters by POST, without a CSRF token. Neither the page nor `view` changes anything.
    @csrf_exempt
    @wraps(view)
    def choose(request: TenantRequest, *args: object, **kwargs: Any) -> HttpResponse:
        if expects_html(request):
            if request.address.front:
                return cast(HttpResponse, landing(request))
            return cast(HttpResponse, page(request, *args, **kwargs))
        route = route_of_former_path(kwargs.get("category_name"))
        if route and "HTTP_AUTHORIZATION" not in request.META and not may_be_category(request, **kwargs):
            return redirect(route)
        return view(request, *args, **kwargs)

    # For the middleware, which asks the class who may open the page.
    choose.view_class = page.view_class  # type: ignore[attr-defined]
    choose.page = page  # type: ignore[attr-defined]  # for the tests of access
    return choose


# Old examples send the parameters of a list with POST (`curl -d`), which is handled like GET.
LIST: dict[str, Any] = {"get": "list", "post": "list"}

urlpatterns = [
    path("app/users/me.xml", XMLUserViewSet.as_view({"get": "me"}), name="forum-xml-me"),
    path("app/users/team.xml", XMLUserViewSet.as_view({"get": "team"}), name="forum-xml-team"),
    path("app/users.xml", XMLUserViewSet.as_view({"post": "create"}), name="forum-xml-users"),
    path("app/categories.xml", CategoryViewSet.as_view({"get": "list"}), name="forum-xml-categories"),
    path("app/posts.xml", XMLPostViewSet.as_view({"get": "list", "post": "create"}), name="forum-xml-posts"),
    path("app/posts/<id:id>.xml", XMLPostViewSet.as_view(ITEM), name="forum-xml-post"),
]

# Browsers get pages at these two routes, other clients XML.
first_page = path("", page_or_view(XMLPostViewSet.as_view(LIST)), name="forum-home")
categories = path("<category_name:category_name>", page_or_view(XMLPostViewSet.as_view(LIST)), name="forum-category")
