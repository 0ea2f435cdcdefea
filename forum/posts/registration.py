"""The registration of posts (`core.rooms`)."""

from django.db.models import Model, QuerySet
from django.utils.translation import gettext_lazy as _

from core.registry import Resource, newest_id, registry
from forum.categories.models import Category
from forum.forums.requests import ForumRequest, ForumUserRequest
from forum.lists.queries import PostQuerySet
from forum.posts.models import Post


def live_posts(request: ForumRequest) -> PostQuerySet:
    """Return the posts that the API examples may use, without duplicates, which accept neither votes nor comments."""
    return request.account.posts.live().without_tasks().filter(duplicate_from_id=None)


def newest_task_id(request: ForumUserRequest) -> QuerySet[Model, object]:
    return newest_id(request.account.posts.tasks().accessible_to(request.user))


def newest_forum_post_id(request: ForumRequest) -> QuerySet[Model, object]:
    return newest_id(live_posts(request).of_forum(request.forum.id))


def first_category_name(request: ForumRequest) -> QuerySet[Model, object]:
    forum = request.forum
    return Category.objects.filter(account_id=forum.account_id).of_forum(forum.id).values("name")[:1]


registry.register(
    Resource(
        "post",
        Post,
        "forum.posts.api.PostViewSet",
        label=_("Suggestion or task"),
        plural_label=_("Suggestions and tasks"),
        icon="lightbulb",
        collection="posts",
        samples={
            "post": lambda request: newest_id(live_posts(request)),
            "task": newest_task_id,
            "forum_post": newest_forum_post_id,
            "category_name": first_category_name,
        },
        # The Forum API (XML) reads the posts of one forum, the Account API (JSON) all posts and tasks of the account.
        path_samples={"json": ("post", "task"), "xml": ("forum_post",)},
    )
)
