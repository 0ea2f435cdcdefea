"""The first vote of a visitor. One page asks for an e-mail address. The other asks for the code from the e-mail, and casts the vote.

Both pages extend the pages for signing in with a code (`accounts.sign_in.pages.code`), and show the suggestion.
"""

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.layout.forms import Form
from accounts.sign_in.pages.code import CodePage, CodeRequestForm, CodeRequestPage
from accounts.users.models import User
from core.db.transactions import without_transaction
from core.errors import Throttled
from core.pages.base import redirect
from forum.forums.limits import limit_new_member
from forum.forums.pages.base import ForumPage, only_members_message
from forum.forums.requests import ForumRequest
from forum.lists.pages.visible_posts import PostMerged, PostNotFound, find_post, post_not_found, visible_posts
from forum.votes.models import Vote

if TYPE_CHECKING:
    from forum.posts.models import Post


class FirstVoteStep(ForumPage):
    """The base of both pages. A user who is signed in is redirected to the page with the vote button."""

    request: ForumRequest
    # The route of the page, to redirect from a merged suggestion to its original.
    route = ""
    post_row: "Post"

    def check_access(self) -> HttpResponse | None:
        request, id = self.request, self.kwargs["id"]
        if (response := super().check_access()) is not None:
            return response
        post = visible_posts(request).filter(id=id).first()
        if post is None:
            return post_not_found(request)
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
    indexed = False

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
    indexed = False

    def retry_path(self) -> str:
        return reverse("forum-first-vote", args=[self.kwargs["id"]])

    def finish(self, form: Form, user: User) -> HttpResponse:
        id = self.kwargs["id"]
        user.account = self.request.account
        if not self.request.forum.may_be_joined_by(user):
            messages.error(self.request, only_members_message())
            return redirect("forum-post", id)

        def vote() -> tuple["Post", bool]:
            post = find_post(self.request, id)
            return post, post.vote(by=user)

        try:
            with limit_new_member(self.request, user, Vote):
                post, is_new = without_transaction(vote)
        except Throttled as refused:
            messages.error(self.request, str(refused.message))
            return redirect("forum-post", id)
        except PostNotFound:
            messages.error(self.request, _("This suggestion was deleted in the meantime, or you may not see it."))
            return redirect("forum-suggestions")
        except PostMerged as merged:
            messages.error(
                self.request, _("That suggestion was merged into this one in the meantime. You can vote here.")
            )
            return redirect("forum-post", merged.original.id)
        message = _("You have voted for “%(title)s”.") % {"title": post.title}
        messages.success(self.request, message if is_new else _("You have already voted for this."))
        return redirect("forum-post", id)
