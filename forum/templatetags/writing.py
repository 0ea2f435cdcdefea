"""Template tags and filters for the forms of posts and comments."""

from django import template

from accounts.models import User
from core.api.idempotency import new_form_key
from forum.models import Category, Comment, Post
from forum.pages.forms import CommentForm, EditForm
from forum.pages.reading import category_list_path

register = template.Library()


@register.simple_tag
def blank_comment() -> CommentForm:
    return CommentForm(initial={"key": new_form_key()})


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
