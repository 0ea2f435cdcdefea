"""Functions and filters for templates: posts, comments and their forms."""

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from jinja2 import pass_context
from jinja2.runtime import Context

from accounts.models import User
from accounts.names import public_name
from accounts.pages.sign_in_code import CodeRequestForm
from core.pages.routes import path_with_id
from core.pages.templates import template_filter, template_function
from forum.content_reports import may_report
from forum.models import Comment, Post
from forum.pages.filters import KIND_NAMES
from forum.pages.forms import CommentForm, EditCommentForm, EditForm

template_filter(public_name)


@template_function
@pass_context
def new_comment_form(context: Context) -> CommentForm:
    """Return an empty form."""
    return CommentForm(user=context["request"].user)


@template_function
def comment_code_form(post_id: int) -> CodeRequestForm:
    """Return the form by which a visitor requests a sign-in code. The sign-in returns to the form for a comment."""
    path = reverse("forum-post", args=[post_id], fragment="comment-form")
    form = CodeRequestForm(initial={"next": path}, auto_id="comment-%s")
    # With `autofocus`, the browser would scroll to the end of the page.
    del form.fields["email"].widget.attrs["autofocus"]
    return form


@template_function
def on_behalf_of(customer: str | None) -> str:
    """Return a phrase with the customer for whom the team wrote a post. The context has the name only if the user may know it."""
    return gettext("on behalf of %(name)s") % {"name": customer} if customer else gettext("on behalf of a customer")


@template_filter
def join_names(names: list[str | tuple[str, int]]) -> SafeString:
    """Return the names with commas between them. `<bdi>` isolates the text direction of each name.

    A tuple of a user's name and id is a link to the card of the user.
    """
    return format_html_join(", ", "{}", ((_linked_name(name),) for name in names))


def _linked_name(name: str | tuple[str, int]) -> SafeString:
    if isinstance(name, str):
        return format_html("<bdi>{}</bdi>", name or "?")
    return format_html('<a href="{}"><bdi>{}</bdi></a>', path_with_id("forum-author", name[1]), name[0] or "?")


@template_filter
def may_be_changed_by(row: Post | Comment, user: User | None) -> bool:
    return user is not None and row.may_be_changed_by(user)


@template_filter
def may_be_reported_by(row: Post | Comment, user: User | None) -> bool:
    return user is not None and may_report(row, user)


@template_filter
def kind_name(kind: str) -> str:
    """Return the name of a kind of posts."""
    return str(KIND_NAMES.get(kind, kind))


@template_filter
def version_digest(row: Post | Comment) -> str:
    """Return the digest of the texts. The approval form submits it, so that changed texts are not approved unseen."""
    return EditCommentForm.version_of(row) if isinstance(row, Comment) else EditForm.version_of(row)
