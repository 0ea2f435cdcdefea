"""The page for the vote of a user."""

from contextlib import nullcontext
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from core.db.transactions import in_transaction, without_transaction
from core.error_responses import error_response
from core.pages.base import redirect, referring_path
from core.pages.routes import sign_in_path
from forum.forums.limits import limit_new_member
from forum.forums.pages.base import ForumPage
from forum.forums.requests import ForumUserRequest
from forum.lists.pages.visible_posts import PostMerged, PostNotFound, find_post, post_not_found, visible_posts
from forum.votes.models import Vote

if TYPE_CHECKING:
    from forum.posts.models import Post


class VotePage(ForumPage):
    """The vote for a suggestion. `vote` is 1 or 0, so a request that is sent twice does no harm.

    A visitor is redirected to the page for a first vote. In a private forum, a visitor is redirected to sign in, and then to the page
    with the vote button.
    """

    access = "user"
    template_name = "forum/votes/vote_page.html"

    def check_access(self) -> HttpResponse | None:
        request, id = self.request, self.kwargs["id"]
        if request.user is not None:
            return super().check_access()
        casts_vote = request.method in ("GET", "HEAD") or request.POST.get("vote") == "1"
        if not casts_vote:
            path = sign_in_path(reverse("forum-post", args=[id]), unsaved=True)
        elif request.forum.may_be_read_by(None):
            path = reverse("forum-first-vote", args=[id])
        else:
            path = sign_in_path(reverse("forum-post-vote", args=[id]))
        return HttpResponse(headers={"HX-Redirect": path}) if request.htmx else redirect(path)

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        post = visible_posts(request).filter(id=id).first()
        if post is None:
            return post_not_found(request)
        if post.duplicate_from_id is not None:
            return redirect("forum-post", post.duplicate_from_id)
        if request.account.votes.voted_post_ids(request.user, [id]):
            messages.info(request, _("You have already voted for this."))
            return redirect("forum-post", id)
        return self.render(section="suggestions", post=post, voted=set())

    def post(self, request: ForumUserRequest, id: int) -> HttpResponse:
        casts_vote = {"1": True, "0": False}.get(request.POST.get("vote", ""))
        if casts_vote is None:
            return error_response(request, HTTPStatus.UNPROCESSABLE_ENTITY)

        def vote() -> "Post":
            post = find_post(request, id, locked=not casts_vote)
            if casts_vote:
                post.vote(by=request.user)
            else:
                post.withdraw_vote(by=request.user)
            return post

        try:
            with limit_new_member(request, request.user, Vote) if casts_vote else nullcontext():
                post = without_transaction(vote) if casts_vote else in_transaction(vote)
        except PostNotFound:
            return post_not_found(request)
        except PostMerged as merged:
            return self.direct_to(merged.original)
        if request.htmx:
            return self.render("forum/votes/vote.html", post=post, voted={id} if casts_vote else set())
        message = _("You have voted for “%(title)s”.") if casts_vote else _("Your vote for “%(title)s” is withdrawn.")
        messages.success(request, message % {"title": post.title})
        return redirect(self.path_after_vote(id))

    def path_after_vote(self, id: int) -> str:
        """Return the path of the page on which the button was clicked, or of the post if that page was only a step to the vote."""
        post_path = reverse("forum-post", args=[id])
        path = referring_path(request=self.request, default=post_path)
        steps = (reverse("forum-post-new"), reverse("forum-post-vote", args=[id]), reverse("accounts-sign-in"))
        return post_path if urlsplit(path).path in steps else f"{path.partition('#')[0]}#vote-{id}"

    def direct_to(self, original: "Post") -> HttpResponse:
        """Return a response that tells the user to vote for the original, because the post was merged into it."""
        if self.request.htmx:
            response = self.render("forum/votes/merged.html", http_status=HTTPStatus.CONFLICT, original=original)
            response.headers["HX-Retarget"], response.headers["HX-Reswap"] = "#messages", "innerHTML"
            return response
        messages.error(self.request, _("That suggestion was merged into this one in the meantime. You can vote here."))
        return redirect("forum-post", original.id)
