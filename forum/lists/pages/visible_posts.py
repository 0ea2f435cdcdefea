"""The posts of a request's forum that its user may see. On pages, a post is called a suggestion."""

from http import HTTPStatus
from typing import TYPE_CHECKING

from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _

from core.error_responses import error_response
from forum.forums.requests import ForumRequest
from forum.lists.queries import PostQuerySet

if TYPE_CHECKING:
    from forum.posts.models import Post


class PostNotFound(Http404):
    """The post was deleted, or the user may not see it."""


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


def post_not_found(request: ForumRequest) -> HttpResponse:
    message = _("This suggestion was deleted in the meantime, or you may not see it.")
    return error_response(request, HTTPStatus.NOT_FOUND, message=message)
