"""The page that adds a comment to a suggestion."""

from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.layout.forms import Form
from core.errors import Conflict, Throttled
from core.pages.base import redirect
from core.pages.creation import Creation
from forum.comments.models import COMMENTS_PER_PAGE, Comment
from forum.comments.pages.forms import CommentForm
from forum.forums.requests import ForumUserRequest, agent_of
from forum.lists.pages.visible_posts import (
    PostMerged,
    PostNotFound,
    find_post,
    lock_post,
    post_not_found,
    visible_posts,
)
from forum.texts.pages import CreatingTextPage

if TYPE_CHECKING:
    from forum.posts.models import Post


class CommentPage(CreatingTextPage):
    """The form for a comment. The page of the post includes an empty form; this page shows the form with errors or a preview."""

    template_name = "forum/comments/comment_page.html"

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        if not visible_posts(request).filter(id=id).exists():
            return post_not_found(request)
        return redirect(reverse("forum-post", args=[id], fragment="comment-form"))

    def show_submitted(self, status: int, id: int) -> HttpResponse:
        return self.show(self.make_form(initial=self.submitted_values()), id=id, status=status)

    def make_form(self, *args: Any, **kwargs: Any) -> CommentForm:
        return CommentForm(*args, user=self.request.user, **kwargs)

    def process_form(self, id: int) -> HttpResponse:
        request = cast(ForumUserRequest, self.request)
        if self.wants_preview:
            return self.show(self.make_form(initial=self.submitted_values()), id=id)
        form = self.make_form(request.POST)
        if not form.is_valid():
            return self.show(form, id=id, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        text, internal = form.cleaned_data["content"], form.cleaned_data.get("internal", False)
        created: list[tuple[Post, Comment]] = []

        def create() -> Comment:
            post = find_post(request, id)
            new = post.comment(by=request.user, text=text, agent=agent_of(request), internal=internal)
            created[:] = [(post, new)]
            return new

        def change(comment: Comment) -> None:
            if comment.internal != internal:
                # Its notifications were sent to other people.
                raise Conflict(_("A comment can't become internal or public afterwards. Add it as a second entry."))
            # The text is read while the post is locked.
            lock_post(request, id).edit_comment(request.account.comments.get(id=comment.id), text, by=request.user)

        creation = Creation(
            create=create,
            rows=request.account.comments.filter(post_id=id).visible_to(request.user),
            path=lambda comment: reverse("forum-comment", args=[id, comment.id]),
            saved=lambda comment: {"content": comment.comment, "internal": comment.internal},
            change=change,
            is_visible=lambda comment: comment.may_be_changed_by(request.user),
        )
        try:
            with self.limit_new_member(Comment):
                comment = self.create_once(form, creation, {"content": text, "internal": internal})
        except Throttled as refused:
            return self.show_over_limit(form, refused, partial(self.show, form, id=id))
        except PostNotFound:
            return self.show(form, id=id, status=HTTPStatus.NOT_FOUND, is_gone=True)
        except PostMerged as merged:
            return self.show(form, id=id, status=HTTPStatus.CONFLICT, original=merged.original)
        if isinstance(comment, HttpResponse):
            return comment
        if comment is None:
            return self.show(form, id=id, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        path = self.path_of(created[-1][0] if created else find_post(request, id), comment)
        if not request.htmx:
            message = _("Your comment is posted.")
            if internal:
                message = _("Your internal comment is saved. Only the team sees it.")
            elif not comment.approved:
                message = _("Thank you! It is waiting for approval: until then, only you and the team can see it.")
            messages.success(request, message)
            return redirect(path)
        if not created or "?" in path:
            # The comment exists already, or it is on another page of comments.
            return HttpResponse(headers={"HX-Redirect": path})
        [(post, new)] = created
        new.user = request.user
        internal_count = post.internal_comments_cache if request.user.is_team else 0
        return self.render("forum/comments/new_comment.html", post=post, comment=new, internal_count=internal_count)

    def path_of(self, post: "Post", comment: Comment) -> str:
        """Return the path of a new comment, which is on the last page of comments."""
        query = {"page": "last"} if post.comment_count_for(self.request.user) > COMMENTS_PER_PAGE else None
        return reverse("forum-post", args=[post.id], query=query, fragment=f"comment-{comment.id}")

    def show(self, form: Form, *, id: int, **context: Any) -> HttpResponse:  # type: ignore[override]  # needs the post
        """Return only the form if htmx asks, which replaces the form in place. Otherwise return a page."""
        posts = visible_posts(self.request)
        post = posts.filter(id=id).first() if self.may_read_forum else None
        needs_page = self.stale or self.sign_in_form is not None or "original" in context
        template = "forum/comments/comment_fields.html" if self.request.htmx else None
        return super().show(
            form,
            template,
            writing=True,
            post=post or posts.model(id=id),
            visible_post=post,
            needs_page=needs_page,
            **context,
        )

    @property
    def may_read_forum(self) -> bool:
        return self.request.forum.may_be_read_by(self.request.user)
