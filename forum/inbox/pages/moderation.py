"""The queue of posts and comments that wait for approval."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.db.models import F, OuterRef, Subquery
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.layout.settings import parse_id
from core.errors import FieldError
from core.pages.base import redirect
from forum.comments.models import Comment
from forum.comments.pages.forms import EditCommentForm
from forum.forums.requests import ForumUserRequest
from forum.inbox import tabs as inbox
from forum.posts.models import Post
from forum.posts.pages.writing import EditPostForm
from forum.team_tools.pages.base import ForumTeamPage, PostInTrash
from forum.texts.markdown import render


def render_comments(comments: list[Comment]) -> list[Comment]:
    """Return the comments, with the HTML of those that were saved without it."""
    for comment in comments:
        if comment.comment_html is None:
            comment.comment_html = render(comment.comment)
    return comments


class ModerationPage(ForumTeamPage):
    """The queue, oldest first. The page of a post submits its buttons to this page too; with `back`, the response returns to the post."""

    template_name = "forum/inbox/moderation.html"
    actions = {
        "approve": "approve",
        "reject": "reject",
        "approve_comment": "approve_comment",
        "reject_comment": "reject_comment",
    }

    def get(self, request: ForumUserRequest) -> HttpResponse:
        page = self.read_page()
        categories = request.account.categories.filter(id=OuterRef("category_id"))
        annotations: dict[str, Any] = {"nick": F("user__name"), "category_name": Subquery(categories.values("name"))}
        posts = request.account.posts.of_forum(request.forum.id).unapproved().annotate(**annotations)
        rows = list(posts[page.start : page.stop])
        if not rows and page.number > 1:
            # All posts of the last page have been approved or rejected.
            return redirect("forum-moderation")
        more = len(rows) > page.size
        for post in rows:
            if post.content_html is None:
                post.content_html = render(post.content)
        comments = (
            render_comments(inbox.waiting_comments(request.account, request.forum.id)) if page.number == 1 else []
        )
        return self.render(section="inbox", posts=rows[: page.size], waiting_comments=comments, page=page, more=more)

    def approve(self, request: ForumUserRequest) -> HttpResponse:
        def act() -> None:
            post = self.lock(id)
            locked_posts[:] = [post]
            if post.approved:
                return
            if request.POST.get("version", current := EditPostForm.version_of(post)) != current:
                raise FieldError("post", gettext_lazy("was changed in the meantime"), "changed")
            post.approve(by=request.user)

        id = parse_id(request.POST.get("id")) or 0
        locked_posts: list[Post] = []
        if self.decide(act):
            if locked_posts[0].is_private:
                message = _("The suggestion is approved. It is private: only its author and the team can see it.")
            else:
                message = _("The suggestion is approved: everyone can see it now.")
            messages.success(request, message)
        return self.go_back(*(("forum-post", id) if locked_posts else ("forum-suggestions",)))

    def reject(self, request: ForumUserRequest) -> HttpResponse:
        id = parse_id(request.POST.get("id")) or 0
        success_message = _("The suggestion is rejected. An admin can restore it from the trash for 30 days.")
        self.decide(lambda: self.lock(id).reject(by=request.user), success_message=success_message)
        return self.go_back("forum-suggestions")

    def approve_comment(self, request: ForumUserRequest) -> HttpResponse:
        id = parse_id(request.POST.get("id")) or 0

        def act() -> None:
            post, comment = self.lock_comment(id)
            if comment.approved:
                return
            if request.POST.get("version", current := EditCommentForm.version_of(comment)) != current:
                raise FieldError("comment", gettext_lazy("was changed in the meantime"), "changed")
            post.approve_comment(comment)

        return self.decide_on_comment(
            id, act, _("The comment is approved: everyone who sees the suggestion sees it now.")
        )

    def reject_comment(self, request: ForumUserRequest) -> HttpResponse:
        id = parse_id(request.POST.get("id")) or 0

        def act() -> None:
            post, comment = self.lock_comment(id)
            post.reject_comment(comment)

        return self.decide_on_comment(id, act, _("The comment is rejected and deleted."))

    def lock_comment(self, id: int) -> tuple[Post, Comment]:
        """Return a comment and its post, which is locked until the transaction ends. Raise FieldError if the comment is gone."""
        post_ids = self.request.account.comments.filter(id=id).values("post_id")
        post = self.posts.live().locked().filter(id__in=post_ids).first()
        comment = None if post is None else self.request.account.comments.filter(post_id=post.id, id=id).first()
        if post is None or comment is None:
            raise FieldError("comment", gettext_lazy("is no longer here"), "gone")
        return post, comment

    def decide_on_comment(self, id: int, act: Callable[[], object], message: str) -> HttpResponse:
        post_id = self.request.account.comments.filter(id=id).values_list("post_id", flat=True).first()
        is_done = self.perform(act, success_message=message)
        if post_id is None:
            return self.go_back("forum-suggestions")
        was_rejected = is_done and self.request.POST.get("do") == "reject_comment"
        return self.go_back(*(("forum-post", post_id) if was_rejected else ("forum-comment", post_id, id)))

    def decide(self, act: Callable[[], object], *, success_message: str = "") -> bool:
        """Run `act` as `Page.perform` does. If the post is in the trash already, add a message."""
        try:
            return self.perform(act, success_message=success_message)
        except PostInTrash:
            messages.error(self.request, _("This suggestion was rejected or deleted in the meantime."))
            return False

    def go_back(self, route: str, *args: object) -> HttpResponse:
        """Redirect to the route if the form was submitted from the page of a post, else to the queue."""
        if self.request.POST.get("back"):
            return redirect(route, *args)
        page = parse_id(self.request.GET.get("page"))
        return redirect("forum-moderation", query={"page": page} if page and page > 1 else None)
