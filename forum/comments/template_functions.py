from typing import Any

from django.urls import reverse
from jinja2 import pass_context
from jinja2.runtime import Context

from accounts.sign_in.pages.sign_in import CodeRequestForm
from accounts.users.models import User
from core.pages.templates import template_filter, template_function
from forum.comments.models import CommentReaction
from forum.comments.pages import CommentForm, initial_of_reply


@template_function
@pass_context
def new_comment_form(context: Context) -> CommentForm:
    request = context["request"]
    return CommentForm(user=request.user, initial=initial_of_reply(request, context["post"].id))


@template_function
def comment_code_form(post_id: int) -> CodeRequestForm:
    """Return the form by which a visitor requests a sign-in code. The sign-in returns to the form for a comment."""
    path = reverse("forum-post", args=[post_id], fragment="comment-form")
    form = CodeRequestForm(initial={"next": path}, auto_id="comment-%s")
    # With `autofocus`, the browser would scroll to the end of the page.
    del form.fields["email"].widget.attrs["autofocus"]
    return form


@template_filter
def may_be_changed_by(row: Any, user: User | None) -> bool:
    """Return whether the user may change or delete a post or a comment."""
    return user is not None and row.may_be_changed_by(user)


@template_function
def reaction_kinds() -> list[tuple[str, str]]:
    return [(kind.value, str(kind.label)) for kind in CommentReaction.Kind]
