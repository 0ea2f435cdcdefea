"""What the templates of a post's page use for what is written there."""

from django import template

from accounts.models import User
from core.api.idempotency import new_form_key
from forum.models import Category, Comment, Post
from forum.pages.forms import CommentForm, EditForm
from forum.pages.reading import path_of

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
    return path_of(category.name, is_first=category == first)


@register.filter
def version(post: Post) -> str:
    """Which words of it a page shows, for whoever decides on them."""
    return EditForm.version_of(post)
