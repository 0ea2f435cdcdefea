"""The registration of posts (`core.rooms`)."""

from django.db.models import Model, QuerySet

from core.registry import newest_id
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


Post.api_resource.samples |= {
    "post": lambda request: newest_id(live_posts(request)),
    "task": newest_task_id,
    "forum_post": newest_forum_post_id,
    "category_name": first_category_name,
}
