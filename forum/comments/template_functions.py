from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context

from accounts.users.models import User
from core.pages.templates import template_filter, template_function
from forum.comments.models import CommentReaction
from forum.comments.pages import CommentForm, initial_of_reply


@template_function
@pass_context
def new_comment_form(context: Context) -> CommentForm:
    request = context["request"]
    return CommentForm(user=request.user, initial=initial_of_reply(request, context["post"].id))


@template_filter
def may_be_changed_by(row: Any, user: User | None) -> bool:
    """Return whether the user may change or delete a post or a comment."""
    return user is not None and row.may_be_changed_by(user)


@template_function
def reaction_kinds() -> list[tuple[str, str]]:
    return [(kind.value, str(kind.label)) for kind in CommentReaction.Kind]
