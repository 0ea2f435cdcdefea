"""The picture of a suggestion for previews of links."""

from typing import TYPE_CHECKING

from django.http import Http404, HttpResponse, HttpResponseNotModified
from django.urls import reverse
from django.utils.translation import get_language

from accounts.statuses.models import Status, status_name
from core.http import throttling
from core.pages.base import base_url
from forum.forums.models import Forum
from forum.forums.pages.base import ForumPage
from forum.forums.requests import ForumRequest
from forum.lists.queries import Visibility
from forum.previews.pictures import Preview, draw

if TYPE_CHECKING:
    from forum.posts.models import Post

# The address of a picture contains its digest, so a changed suggestion has another address.
MAX_AGE = 3600


def preview_of(forum: Forum, title: str, votes: int, status: Status) -> Preview:
    return Preview(title, votes, status_name(status), status.color or "", forum.name, get_language() or "")


def image_url(request: ForumRequest, post: "Post") -> str | None:
    """Return the URL of the picture of a post, or None if visitors may not read the post."""
    if post.visibility != Visibility.OPEN or not request.forum.may_be_read_by(None):
        return None
    preview = preview_of(request.forum, post.title, post.votes_cache, post.status)
    return base_url(request) + reverse("forum-post-image", args=[post.id], query={"v": preview.digest})


class PostImagePage(ForumPage):
    """The picture of a suggestion that every visitor may read. Other suggestions have no picture, not even for the team."""

    http_method_names = ["get", "head"]

    def get(self, request: ForumRequest, id: int) -> HttpResponse:
        if not request.forum.may_be_read_by(None):
            raise Http404
        posts = request.account.posts.of_forum(request.forum.id).filter(id=id, visibility=Visibility.OPEN)
        post = posts.select_related("status").only("title", "votes_cache", "status").first()
        if post is None:
            raise Http404
        preview = preview_of(request.forum, post.title, post.votes_cache, post.status)
        headers = {"ETag": f'"{preview.digest}"', "Cache-Control": f"public, max-age={MAX_AGE}"}
        if request.headers.get("If-None-Match") == headers["ETag"]:
            return HttpResponseNotModified(headers=headers)
        throttling.count_picture(request)
        return HttpResponse(draw(preview), content_type="image/png", headers=headers)
