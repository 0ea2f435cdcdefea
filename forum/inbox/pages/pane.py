"""The pane of the inbox: one suggestion with everything that decides what to do with it, and the forms to do it."""

from typing import Any

from django import forms
from django.db.models import F, OuterRef, Subquery
from django.http import Http404
from django.urls import reverse
from django.utils.translation import gettext_lazy

from accounts.account.models import Account
from accounts.layout.forms import Form
from accounts.tags.api import tags_in_use
from forum.forums.requests import ForumUserRequest
from forum.posts.models import Post
from forum.team_tools.pages import MAX_TAGS_OFFERED
from forum.texts.markdown import render

# The id of the element into which htmx loads the likely duplicates.
SIMILAR = "pane-similar"
SIMILAR_COLUMNS = ("id", "title", "votes_cache")
# The length of the reason for which a suggestion is rejected.
MAX_REASON_LENGTH = 2000


class TagsForm(Form):
    tags = forms.CharField(
        label=gettext_lazy("Tags"),
        required=False,
        max_length=8000,
        help_text=gettext_lazy("Separated by commas."),
        widget=forms.TextInput(attrs={"list": "tags-in-use", "data-tags": "", "autocomplete": "off"}),
    )


class RejectForm(Form):
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        required=False,
        max_length=MAX_REASON_LENGTH,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("Its author gets it by e-mail. Without a reason, nobody is told."),
    )


def find_post(account: Account, id: int) -> Post:
    """Return the post of the pane with its names. Raise Http404 if it is in the trash."""
    categories = account.categories.filter(id=OuterRef("category_id"))
    originals = account.posts.filter(id=OuterRef("duplicate_from_id"))
    annotations: dict[str, Any] = {
        "nick": F("user__name"),
        "login": F("user__login"),
        "category_name": Subquery(categories.values("name")),
        "original_title": Subquery(originals.values("title")),
    }
    posts = account.posts.live().without_tasks().select_related("status").annotate(**annotations)
    post: Post | None = posts.filter(id=id).first()
    if post is None:
        raise Http404
    post.account = account
    return post


def similar_to(post: Post) -> list[tuple[int, str, int]]:
    """Return the ids, titles and numbers of votes of the suggestions that the post may duplicate."""
    found = Post.objects.similar_to(post.title, SIMILAR_COLUMNS, account=post.account, forum_id=post.forum_id or 0)
    return [row for row in found if row[0] != post.id]


def context_of(request: ForumUserRequest, post: Post, ids: list[int], back: str) -> dict[str, Any]:
    """Return what the template shows of the post. `ids` are those of the rows of the list, whose address is `back`."""
    post.content_html = post.content_html or render(post.content)
    place = ids.index(post.id) if post.id in ids else None
    next_id = None if place is None else next(iter(ids[place + 1 : place + 2]), None)
    previous_id = ids[place - 1] if place else None
    return {
        "post": post,
        "next_id": next_id,
        "previous_id": previous_id,
        # Where the user goes after an act: to the next row, or else the previous one.
        "goes_to": next_id or previous_id,
        "back": back,
        "tags_form": TagsForm(initial={"tags": ", ".join(post.tags)}, auto_id="pane-%s"),
        "reject_form": RejectForm(auto_id="pane-%s"),
        "tags": [tag["name"] for tag in tags_in_use(request.user, "post")[:MAX_TAGS_OFFERED]],
        "answer_path": reverse("forum-post-answer", args=[post.id]),
    }
