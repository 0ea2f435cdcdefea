from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context

from accounts.users.models import User
from core.pages.templates import template_filter, template_function
from forum.comments.pages import CommentForm


@template_function
@pass_context
def new_comment_form(context: Context) -> CommentForm:
    return CommentForm(user=context["request"].user)


@template_filter
def may_be_changed_by(row: Any, user: User | None) -> bool:
    """Return whether the user may change or delete a post or a comment."""
    return user is not None and row.may_be_changed_by(user)
