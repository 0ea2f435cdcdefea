"""Template tags and filters for posts, comments and their forms."""

from functools import cache, partial
from typing import Any
from urllib.parse import quote

from django import template
from django.template import Context
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from accounts.default_names import status_name
from accounts.models import User
from accounts.names import public_name
from accounts.pages.sign_in_code import CodeRequestForm
from core.pages.routes import path_with_id
from core.pages.rows import render_rows
from core.templatetags.rostrum import ago, color_dot, icon
from forum.content_reports import may_report
from forum.models import Comment, Post
from forum.pages.filters import KIND_NAMES
from forum.pages.forms import CommentForm, EditCommentForm, EditForm

register = template.Library()
register.filter(public_name)


@register.simple_tag(takes_context=True)
def new_comment_form(context: Context) -> CommentForm:
    """Return an empty form."""
    return CommentForm(user=context["request"].user)


@register.simple_tag
def comment_code_form(post_id: int) -> CodeRequestForm:
    """Return the form by which a visitor requests a sign-in code. The sign-in returns to the form for a comment."""
    path = reverse("forum-post", args=[post_id], fragment="comment-form")
    form = CodeRequestForm(initial={"next": path}, auto_id="comment-%s")
    # With `autofocus`, the browser would scroll to the end of the page.
    del form.fields["email"].widget.attrs["autofocus"]
    return form


@register.simple_tag
def on_behalf_of(customer: str | None) -> str:
    """Return a phrase with the customer for whom the team wrote a post. The context has the name only if the user may know it."""
    return gettext("on behalf of %(name)s") % {"name": customer} if customer else gettext("on behalf of a customer")


@register.simple_tag(takes_context=True)
def vote_button(context: Context) -> SafeString:
    """Return the vote button of the post in the context."""
    values = {name: context.get(name) for name in ("post", "stays")}
    return render_rows("forum/vote.html", **values, **_context_of_votes(context))


@register.simple_tag(takes_context=True)
def post_items(context: Context) -> SafeString:
    """Return the entries of the posts in the context."""

    @cache
    def comments(n: int) -> str:
        return ngettext("%(n)s comment", "%(n)s comments", n) % {"n": n}

    values = _context_of_votes(context)
    values["labels"] |= {"private": gettext("Private"), "unapproved": gettext("Waiting for approval")}
    return render_rows(
        "forum/post_items.html",
        posts=context["posts"],
        home=reverse("forum-suggestions"),
        ago=ago,
        color_dot=color_dot,
        comments=comments,
        kind_name=kind_name,
        on_behalf_of=on_behalf_of,
        quote=partial(quote, safe=""),
        status_name=status_name,
        **values,
    )


def _context_of_votes(context: Context) -> dict[str, Any]:
    @cache
    def votes(n: int) -> str:
        return ngettext("vote", "votes", n)

    return {
        "csrf_token": context.get("csrf_token"),
        "icon": icon,
        "labels": {"take_back": gettext("Take my vote back"), "vote": gettext("Vote for this")},
        "path": path_with_id,
        "voted": context["voted"],
        "votes": votes,
    }


@register.filter
def join_names(names: list[str | tuple[str, int]]) -> SafeString:
    """Return the names with commas between them. `<bdi>` isolates the text direction of each name.

    A tuple of a user's name and id is a link to the card of the user.
    """
    return format_html_join(", ", "{}", ((_linked_name(name),) for name in names))


def _linked_name(name: str | tuple[str, int]) -> SafeString:
    if isinstance(name, str):
        return format_html("<bdi>{}</bdi>", name or "?")
    return format_html('<a href="{}"><bdi>{}</bdi></a>', path_with_id("forum-author", name[1]), name[0] or "?")


@register.filter
def may_be_changed_by(row: Post | Comment, user: User | None) -> bool:
    return user is not None and row.may_be_changed_by(user)


@register.filter
def may_be_reported_by(row: Post | Comment, user: User | None) -> bool:
    return user is not None and may_report(row, user)


@register.filter
def kind_name(kind: str) -> str:
    """Return the name of a kind of posts."""
    return str(KIND_NAMES.get(kind, kind))


@register.filter
def version_digest(row: Post | Comment) -> str:
    """Return the digest of the texts. The approval form submits it, so that changed texts are not approved unseen."""
    return EditCommentForm.version_of(row) if isinstance(row, Comment) else EditForm.version_of(row)
