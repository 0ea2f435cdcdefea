"""Template tags and filters for the forms of posts and comments."""

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from accounts.models import User
from core.api.idempotency import new_form_key
from forum.models import Category, Comment, Post
from forum.pages.forms import CommentForm, EditForm
from forum.pages.reading import category_list_path

register = template.Library()


@register.simple_tag
def blank_comment() -> CommentForm:
    return CommentForm(initial={"key": new_form_key()})


@register.simple_tag
def on_behalf_of(customer: str | None) -> str:
    """Return for whom the team wrote a post. Visitors are not told the name of the client or contact."""
    return gettext("on behalf of %(name)s") % {"name": customer} if customer else gettext("on behalf of a customer")


@register.filter
def in_a_row(names: list[str]) -> SafeString:
    """Return the names with commas between them, each with a direction of text of its own."""
    return format_html_join(", ", "<bdi>{}</bdi>", ((name or "?",) for name in names))


@register.filter
def may_be_changed_by(row: Post | Comment, user: User | None) -> bool:
    return user is not None and row.may_be_changed_by(user)


@register.simple_tag
def category_path(category: Category, first: Category) -> str:
    """Return the path of a category's list; `first` is the forum's first category."""
    return category_list_path(category.name, is_first=category == first)


@register.filter
def version(post: Post) -> str:
    """Return the version of the post that the page shows, for the form that approves it."""
    return EditForm.version_of(post)
