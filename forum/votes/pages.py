"""The pages for the vote of a user, and for the first vote of a visitor.

The pages for the first vote extend those for signing in with a code (`accounts.sign_in.pages.sign_in`), and show the suggestion: one asks for an
e-mail address, the other for the code from the e-mail, and casts the vote.
"""

from contextlib import nullcontext
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.sign_in.pages.sign_in import CodePage, CodeRequestForm, CodeRequestPage
from accounts.users.models import User
from core.db.transactions import in_transaction, without_transaction
from core.error_responses import error_response
from core.errors import Throttled
from core.pages.base import redirect, referring_path
from core.pages.navigation import sign_in_path
from forum.forums.limits import limit_new_member
from forum.forums.pages.base import ForumPage, PostNotFound, only_members_message
from forum.forums.requests import ForumRequest, ForumUserRequest
from forum.lists.pages.base import PostMerged, find_post
from forum.texts.slugs import post_path

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
        post = find_post(request, id, include_merged=True)
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
            with limit_new_member(request, request.user, "vote") if casts_vote else nullcontext():
                post = without_transaction(vote) if casts_vote else in_transaction(vote)
        except PostMerged as merged:
            return self.direct_to(merged.original)
        if request.htmx:
            return self.render("forum/votes/vote.html", post=post, voted={id} if casts_vote else set())
        message = _("You have voted for “%(title)s”.") if casts_vote else _("Your vote for “%(title)s” is withdrawn.")
        messages.success(request, message % {"title": post.title})
        return redirect(self.path_after_vote(post))

    def path_after_vote(self, post: "Post") -> str:
        """Return the path of the page on which the button was clicked, or of the post if that page was only a step to the vote."""
        default = post_path(post.id, post.title)
        path = referring_path(request=self.request, default=default)
        steps = (reverse("forum-post-new"), reverse("forum-post-vote", args=[post.id]), reverse("accounts-sign-in"))
        return default if urlsplit(path).path in steps else f"{path.partition('#')[0]}#vote-{post.id}"

    def direct_to(self, original: "Post") -> HttpResponse:
        """Return a response that tells the user to vote for the original, because the post was merged into it."""
        if self.request.htmx:
            response = self.render("forum/votes/merged.html", http_status=HTTPStatus.CONFLICT, original=original)
            response.headers["HX-Retarget"], response.headers["HX-Reswap"] = "#messages", "innerHTML"
            return response
        messages.error(self.request, _("That suggestion was merged into this one in the meantime. You can vote here."))
        return redirect(post_path(original.id, original.title))


class FirstVoteStep(ForumPage):
    """The base of the pages for a first vote. A user who is signed in is redirected to the page with the vote button."""

    request: ForumRequest
    indexed = False
    # The route of the page, to redirect from a merged suggestion to its original.
    route = ""
    post_row: "Post"

    def check_access(self) -> HttpResponse | None:
        request, id = self.request, self.kwargs["id"]
        if (response := super().check_access()) is not None:
            return response
        post = find_post(request, id, include_merged=True)
        if request.user is not None:
            return redirect("forum-post-vote", id)
        if post.duplicate_from_id is not None:
            return redirect(self.route, post.duplicate_from_id)
        self.post_row = post
        return None

    def render(self, template: str | None = None, *, http_status: int = 200, **context: Any) -> HttpResponse:
        context = {"section": "suggestions", "post": self.post_row} | context
        return super().render(template, http_status=http_status, **context)


class FirstVotePage(FirstVoteStep, CodeRequestPage):
    """The page that asks a visitor for an e-mail address, and says why."""

    request: ForumRequest
    template_name = "forum/votes/first_vote.html"
    route = "forum-first-vote"

    def get(self, request: ForumRequest, id: int) -> HttpResponse:
        return self.render_form(CodeRequestForm())

    def post(self, request: ForumRequest, id: int) -> HttpResponse:
        form = CodeRequestForm(request.POST)
        response = self.send_code(form) if form.is_valid() else None
        return response or self.render_form(form)

    def code_path(self) -> str:
        return reverse("forum-first-vote-code", args=[self.kwargs["id"]])


class FirstVoteCodePage(FirstVoteStep, CodePage):
    """The page for the code. The right code signs the visitor in and casts the vote."""

    request: ForumRequest
    template_name = "forum/votes/first_vote_code.html"
    route = "forum-first-vote-code"

    def retry_path(self) -> str:
        return reverse("forum-first-vote", args=[self.kwargs["id"]])

    def target_path(self) -> str:
        return reverse("forum-post-vote", args=[self.kwargs["id"]])

    def finish(self, response: HttpResponse, user: User) -> HttpResponse:
        id = self.kwargs["id"]
        if not self.request.forum.may_be_joined_by(user):
            messages.error(self.request, only_members_message())
            return redirect("forum-post", id)

        def vote() -> tuple["Post", bool]:
            post = find_post(self.request, id)
            return post, post.vote(by=user)

        try:
            with limit_new_member(self.request, user, "vote"):
                post, is_new = without_transaction(vote)
        except Throttled as refused:
            messages.error(self.request, str(refused.message))
            return redirect("forum-post", id)
        except PostNotFound:
            messages.error(self.request, _("This suggestion was deleted in the meantime, or you may not see it."))
            return redirect("forum-suggestions")
        except PostMerged as merged:
            message = _("That suggestion was merged into this one in the meantime. You can vote here.")
            messages.error(self.request, message)
            return redirect(post_path(merged.original.id, merged.original.title))
        message = _("You have voted for “%(title)s”.") % {"title": post.title}
        messages.success(self.request, message if is_new else _("You have already voted for this."))
        return redirect("forum-post", id)
