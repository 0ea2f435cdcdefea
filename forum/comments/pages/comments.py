"""The pages that edit and delete a comment, and the page with its earlier versions."""

from functools import partial
from http import HTTPStatus
from math import ceil
from typing import TYPE_CHECKING, Any, cast

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from core.db.transactions import in_transaction
from core.error_responses import error_response
from core.pages.base import redirect
from forum.comments.models import COMMENTS_PER_PAGE, Comment, CommentQuerySet
from forum.comments.pages.forms import EditCommentForm
from forum.forums.pages.base import ForumPage
from forum.forums.requests import ForumRequest, ForumUserRequest
from forum.lists.pages.visible_posts import PostMerged, PostNotFound, lock_post, post_not_found, visible_posts
from forum.texts.pages import WritingPage

if TYPE_CHECKING:
    from forum.posts.models import Post

MAX_VERSIONS = 50


def path_of_comments(request: ForumRequest, post: "Post", comment: Comment | None, fragment: str | None = None) -> str:
    """Return the path of the post, with the page of its comments that has the comment, or had it before the comment was deleted."""
    page, last = 1, ceil(post.comment_count_for(request.user) / COMMENTS_PER_PAGE)
    if comment is not None and last > 1:
        earlier = Q(created_at__lt=comment.created_at) | Q(created_at=comment.created_at, id__lt=comment.id)
        comments = request.account.comments.filter(earlier, post_id=post.id).visible_to(request.user)
        # The deleted comment may have been the only one of the last page.
        page = min(comments.count() // COMMENTS_PER_PAGE + 1, last)
    return reverse("forum-post", args=[post.id], query={"page": page} if page > 1 else None, fragment=fragment)


class CommentLink(ForumPage):
    """The permanent address of a comment. It redirects to the page of comments that has the comment now."""

    request: ForumRequest

    def get(self, request: ForumRequest, id: int, comment_id: int) -> HttpResponse:
        post = visible_posts(request).filter(id=id).first()
        if post is None:
            raise Http404
        if post.duplicate_from_id is not None:
            return redirect("forum-comment", post.duplicate_from_id, comment_id)
        comments = request.account.comments.filter(post_id=id).visible_to(request.user)
        comment = comments.filter(id=comment_id).first()
        if comment is None:
            messages.error(request, _("That comment is no longer here."))
            return redirect("forum-post", id)
        return redirect(path_of_comments(request, post, comment, f"comment-{comment_id}"))


class EditCommentPage(WritingPage):
    template_name = "forum/comments/edit_comment.html"

    def find(self, id: int, comment_id: int) -> Comment | None:
        """Return the comment if the user may see it and its post."""
        request = self.request
        if not visible_posts(request).filter(id=id).exists():
            return None
        return self.comments(id).filter(id=comment_id).first()

    def comments(self, id: int) -> CommentQuerySet:
        return self.request.account.comments.filter(post_id=id).visible_to(self.request.user)

    def get(self, request: ForumUserRequest, id: int, comment_id: int) -> HttpResponse:
        comment = self.find(id, comment_id)
        if comment is None:
            raise Http404
        if not comment.may_be_changed_by(request.user):
            return refuse_comment_change(request)
        form = EditCommentForm(initial=EditCommentForm.initial_values(comment))
        return self.show(form, id=id, comment_id=comment_id, internal=comment.internal)

    def show_submitted(self, status: int, id: int, comment_id: int) -> HttpResponse:
        return self.show_again(EditCommentForm(initial=self.submitted_values()), id, comment_id, status=status)

    def show_again(self, form: EditCommentForm, id: int, comment_id: int, **context: Any) -> HttpResponse:
        """Return the page with a submitted form."""
        comment = self.find(id, comment_id)
        internal = comment is not None and comment.internal
        return self.show(form, id=id, comment_id=comment_id, internal=internal, **context)

    def process_form(self, id: int, comment_id: int) -> HttpResponse:
        request = cast(ForumUserRequest, self.request)
        show = partial(self.show_again, id=id, comment_id=comment_id)
        if self.wants_preview:
            return show(EditCommentForm(initial=self.submitted_values()))
        form = EditCommentForm(request.POST)
        if not form.is_valid():
            return show(form, status=HTTPStatus.UNPROCESSABLE_ENTITY)

        def change() -> tuple[str, Comment | None, str]:
            post = lock_post(request, id)
            comment = self.comments(id).filter(id=comment_id).first()
            if comment is None:
                return "gone", None, ""
            if not comment.may_be_changed_by(request.user):
                return "refused", comment, ""
            text = form.cleaned_data["content"]
            if text != comment.comment and EditCommentForm.version_of(comment) != form.cleaned_data["version"]:
                return "changed", comment, ""
            post.edit_comment(comment, text, by=request.user)
            return "done", comment, path_of_comments(request, post, comment, f"comment-{comment_id}")

        try:
            result, comment, path = in_transaction(change)
        except (PostNotFound, PostMerged):
            result, comment, path = "gone", None, ""
        if result == "gone":
            return show(form, status=HTTPStatus.NOT_FOUND, is_gone=True)
        if result == "refused":
            return refuse_comment_change(request)
        if result == "changed" and comment is not None:
            form.replace_data("version", EditCommentForm.version_of(comment))
            return show(form, status=HTTPStatus.CONFLICT, current=comment.comment)
        message = _("Saved.")
        if comment is not None and not comment.approved and not request.user.is_team:
            message = _("Saved. It is waiting for approval: until then, only you and the team can see it.")
        messages.success(request, message)
        return redirect(path)


def refuse_comment_change(request: ForumRequest) -> HttpResponse:
    return error_response(request, 403, message=_("Only the author of a comment and the team can change it."))


class CommentHistoryPage(ForumPage):
    """The earlier texts of a comment, newest first, for the team."""

    request: ForumUserRequest
    access = "team"
    template_name = "forum/comments/comment_history.html"

    def get(self, request: ForumUserRequest, id: int, comment_id: int) -> HttpResponse:
        post = visible_posts(request).filter(id=id).only("account_id", "id", "title").first()
        comment = request.account.comments.select_related("user").filter(post_id=id, id=comment_id).first()
        if post is None or comment is None:
            raise Http404
        versions = list(comment.versions()[: MAX_VERSIONS + 1])
        return self.render(
            section="suggestions",
            post=post,
            comment=comment,
            versions=versions[:MAX_VERSIONS],
            more_versions=len(versions) > MAX_VERSIONS,
        )


class DeleteCommentPage(ForumPage):
    """The button that deletes a comment. A deleted comment does not go to the trash."""

    request: ForumUserRequest
    access = "user"

    def post(self, request: ForumUserRequest, id: int, comment_id: int) -> HttpResponse:
        def erase() -> tuple[Comment | None, str]:
            """Return the comment, if it existed, and the path of the page of comments that it was on."""
            post = lock_post(request, id)
            comments = request.account.comments.filter(post_id=id).visible_to(request.user)
            comment = comments.filter(id=comment_id).first()
            if comment is not None and comment.may_be_changed_by(request.user):
                post.erase_comment(comment)
            return comment, path_of_comments(request, post, comment)

        try:
            comment, path = in_transaction(erase)
        except PostNotFound:
            return post_not_found(request)
        except PostMerged as merged:
            message = _("That suggestion was merged into this one in the meantime. You can delete the comment here.")
            messages.error(request, message)
            return redirect("forum-post", merged.original.id)
        if comment is None:
            messages.error(request, _("That comment is no longer here."))
        elif not comment.may_be_changed_by(request.user):
            message = _("Only the author of a comment and the team can delete it.")
            return error_response(request, 403, message=message)
        else:
            messages.success(request, _("The comment is deleted."))
        return redirect(path)
