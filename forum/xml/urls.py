from typing import Any

from django.urls import path, register_converter

from core.api.routing import ITEM
from forum.pages.urls import page_or_view
from forum.xml.views import CategoryViewSet, PostViewSet, UserViewSet


class CategoryNameConverter:
    """A path segment without the suffix of a format. Paths with a suffix are never lists."""

    regex = r"[^/]+(?<!\.xml)(?<!\.json)"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(CategoryNameConverter, "category_name")

# Old examples send the parameters of a list with POST (`curl -d`), which is handled like GET.
LIST: dict[str, Any] = {"get": "list", "post": "list"}

urlpatterns = [
    path("app/users/me.xml", UserViewSet.as_view({"get": "me"}), name="forum-xml-me"),
    path("app/users/team.xml", UserViewSet.as_view({"get": "team"}), name="forum-xml-team"),
    path("app/users.xml", UserViewSet.as_view({"post": "create"}), name="forum-xml-users"),
    path("app/categories.xml", CategoryViewSet.as_view({"get": "list"}), name="forum-xml-categories"),
    path("app/posts.xml", PostViewSet.as_view({"get": "list", "post": "create"}), name="forum-xml-posts"),
    path(
        "app/posts/<id:id>.xml",
        PostViewSet.as_view(ITEM),
        name="forum-xml-post",
    ),
]

# Browsers get pages at these two routes, other clients XML.
first_page = path("", page_or_view(PostViewSet.as_view(LIST)), name="forum-home")
categories = path("<category_name:category_name>", page_or_view(PostViewSet.as_view(LIST)), name="forum-category")
