"""The registration of posts (`core.rooms`)."""

from typing import cast

from django.db.models import Model, QuerySet
from django.http import HttpRequest

from core.registry import newest_id
from forum.categories.models import Category
from forum.forums.requests import ForumRequest, ForumUserRequest
from forum.lists.queries import PostQuerySet
from forum.posts.models import Post


def live_posts(request: HttpRequest) -> PostQuerySet:
    """Return the posts that the API examples may use, without duplicates, which accept neither votes nor comments."""
    account = cast(ForumRequest, request).account
    return account.posts.live().without_tasks().filter(duplicate_from_id=None)


def newest_task_id(request: HttpRequest) -> QuerySet[Model, object]:
    forum_request = cast(ForumUserRequest, request)
    return newest_id(forum_request.account.posts.tasks().accessible_to(forum_request.user))


def newest_forum_post_id(request: HttpRequest) -> QuerySet[Model, object]:
    return newest_id(live_posts(request).of_forum(cast(ForumRequest, request).forum.id))


def first_category_name(request: HttpRequest) -> QuerySet[Model, object]:
    forum = cast(ForumRequest, request).forum
    return Category.objects.filter(account_id=forum.account_id).of_forum(forum.id).values("name")[:1]


Post.api_resource.samples |= {
    "post": lambda request: newest_id(live_posts(request)),
    "task": newest_task_id,
    "forum_post": newest_forum_post_id,
    "category_name": first_category_name,
}
