"""What the templates of a post's page use for what is written there."""

from django import template

from accounts.models import User
from core.api.idempotency import new_form_key
from forum.models import Comment, Post
from forum.pages.forms import CommentForm, EditForm

register = template.Library()


@register.simple_tag
def blank_comment() -> CommentForm:
    return CommentForm(initial={"key": new_form_key()})


@register.filter
def may_be_changed_by(row: Post | Comment, user: User | None) -> bool:
    return user is not None and row.may_be_changed_by(user)


@register.filter
def deletion(comment: Comment) -> str:
    """Where it is deleted."""
    return f"/app/posts/{comment.post_id}/comments/{comment.id}/delete"


@register.filter
def version(post: Post) -> str:
    """Which words of it a page shows, for whoever decides on them."""
    return EditForm.version_of(post)
