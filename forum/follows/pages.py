"""The button to follow a suggestion."""

from http import HTTPStatus
from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from core.db.transactions import in_transaction
from core.error_responses import error_response
from core.pages.base import redirect
from forum.follows.models import Follow
from forum.forums.pages.base import ForumPage
from forum.forums.requests import ForumUserRequest
from forum.lists.pages.base import PostMerged, lock_post
from forum.texts.slugs import post_path

if TYPE_CHECKING:
    from forum.posts.models import Post


class FollowPage(ForumPage):
    """The button to follow a suggestion. `follow` is 1 or 0, so a request that is sent twice does no harm."""

    request: ForumUserRequest
    access = "user"

    def post(self, request: ForumUserRequest, id: int) -> HttpResponse:
        follows = {"1": True, "0": False}.get(request.POST.get("follow", ""))
        if follows is None:
            return error_response(request, HTTPStatus.UNPROCESSABLE_ENTITY)

        def choose() -> "Post":
            post = lock_post(request, id)
            Follow.objects.choose(post, by=request.user, follows=follows)
            return post

        try:
            post = in_transaction(choose)
        except PostMerged as merged:
            message = _("That suggestion was merged into this one in the meantime. You can follow it here.")
            messages.error(request, message)
            return redirect(post_path(merged.original.id, merged.original.title))
        message = _("You follow “%(title)s”.") if follows else _("You no longer follow “%(title)s”.")
        messages.success(request, message % {"title": post.title})
        return redirect(reverse("forum-post", args=[id], fragment="follow"))
