"""The deletion of a comment."""

from math import ceil

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from core.db.transactions import in_transaction
from core.error_responses import error_response
from core.pages.base import redirect
from forum.lists import COMMENTS_PER_PAGE
from forum.models import Comment
from forum.pages.base import ForumPage
from forum.pages.writing import PostMerged, PostNotFound, lock_post, post_not_found
from forum.requests import ForumUserRequest


class DeleteCommentPage(ForumPage):
    """The button that deletes a comment. A deleted comment does not go to the trash."""

    request: ForumUserRequest
    access = "user"

    def post(self, request: ForumUserRequest, id: int, comment_id: int) -> HttpResponse:
        def erase() -> tuple[Comment | None, str]:
            """Return the comment, if it existed, and the path of the page of comments that it was on."""
            post = lock_post(request, id)
            comments = request.account.comments.filter(post_id=id)
            comment = comments.filter(id=comment_id).first()
            if comment is not None and comment.may_be_changed_by(request.user):
                post.erase_comment(comment)
            page = 1
            if comment is not None and post.comments_cache > COMMENTS_PER_PAGE:
                earlier = comments.filter(created_at__lt=comment.created_at).count()
                page = ceil(min(earlier + 1, post.comments_cache) / COMMENTS_PER_PAGE)
            return comment, reverse("forum-post", args=[id], query={"page": page} if page > 1 else None)

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
