"""The resources of the forum."""

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from core.registry import Resource, newest_id
from forum.models import Post


def posts(request: HttpRequest) -> QuerySet:
    """Return the posts that the API examples may use: merged posts take neither votes nor comments."""
    return request.account.posts.live().of_forums().filter(duplicate_from_id=None)


RESOURCES = (
    Resource(
        "post",
        Post,
        "forum.api.views.PostViewSet",
        label=_("Suggestion or task"),
        plural_label=_("Suggestions and tasks"),
        icon="lightbulb",
        collection="posts",
        samples={
            "post": lambda request: newest_id(posts(request)),
            "task": lambda request: newest_id(request.account.posts.tasks()),
            "forum_post": lambda request: newest_id(posts(request).of_forum(request.forum.id)),
            "category_name": lambda request: request.account.categories.of_forum(request.forum.id).values("name")[:1],
        },
        # The XML API reads the posts of one forum, the JSON API all posts and tasks of the account.
        path_samples={"json": ("post", "task"), "xml": ("forum_post",)},
    ),
)
