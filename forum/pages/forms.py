"""The forms of posts and comments."""

import hashlib
from typing import Any, cast

from django import forms
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.models import Account, User
from accounts.pages.forms import Form
from forum.models import Category, Comment, Post

KINDS = [
    (Post.Kind.SUGGESTION, _("Suggestion")),
    (Post.Kind.ERROR, _("Bug")),
    (Post.Kind.QUESTION, _("Question")),
    (Post.Kind.PRAISE, _("Praise")),
]
FORM_ID = "post-form"
TEXT_LENGTH = 65_536


class LongText(forms.CharField):
    """A text in Markdown. White space at its ends stays, because Markdown gives it a meaning. CRLF from browsers becomes LF."""

    def __init__(self, *, rows: int, **kwargs: Any):
        widget = forms.Textarea(attrs={"rows": rows})
        super().__init__(max_length=TEXT_LENGTH, strip=False, widget=widget, **kwargs)

    def to_python(self, value: Any) -> str:
        return (super().to_python(value) or "").replace("\r\n", "\n")


class PostForm(Form):
    # The input is outside of the <form>, because similar suggestions are shown between the two, and have vote forms of their own.
    title = forms.CharField(
        label=_("Title"),
        max_length=255,
        widget=forms.TextInput(attrs={"form": FORM_ID}),
    )
    content = LongText(label=_("Details"), rows=8, required=False)
    category_id = forms.TypedChoiceField(
        label=_("Category"),
        coerce=int,
        error_messages={"invalid_choice": _("No longer exists; choose another one")},
    )
    kind = forms.ChoiceField(label=_("Kind"), choices=KINDS)
    private = forms.BooleanField(label=_("Only you and the team can see it"), required=False)

    def __init__(self, *args: Any, categories: list[Category], **kwargs: Any):
        super().__init__(*args, **kwargs)
        field = cast(forms.TypedChoiceField, self.fields["category_id"])
        field.choices = [(category.id, category.name) for category in categories]
        if len(categories) == 1:
            field.widget = forms.HiddenInput()
            self.initial["category_id"] = categories[0].id

    @property
    def values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in ("title", "content", "category_id", "kind", "private")}


class NewPostForm(PostForm):
    # Whether similar suggestions have been shown.
    seen = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.fields["title"].widget.attrs |= {
            "autofocus": True,
            "hx-get": reverse("forum-post-similar"),
            "hx-trigger": "input changed delay:300ms",
            "hx-target": "#similar",
            "hx-sync": "this:replace",
        }


class EditForm(PostForm):
    version = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)

    @staticmethod
    def initial_values(post: Post) -> dict[str, Any]:
        """Return the initial values for a post."""
        kind = Post.Kind.SUGGESTION if post.kind == Post.Kind.PRIVATE else post.kind
        return {
            "title": post.title,
            "content": post.content,
            "category_id": post.category_id,
            "kind": kind,
            "private": post.is_private,
        }

    @classmethod
    def version_of(cls, post: Post) -> str:
        """Return a digest of the fields of this form. Comments and votes do not change it."""
        return hashlib.sha256(repr(cls.initial_values(post)).encode()).hexdigest()

    def changes(self, post: Post) -> dict[str, Any]:
        """Return the changed values.

        The form does not offer the kind `PRIVATE`. A post keeps it unless the user changes the kind or the privacy.
        """
        initial = self.initial_values(post)
        values = {name: value for name, value in self.values.items() if value != initial[name]}
        if post.kind == Post.Kind.PRIVATE and not values.keys().isdisjoint({"kind", "private"}):
            values |= {name: self.cleaned_data[name] for name in ("kind", "private")}
        return values


class CommentTextForm(Form):
    content = LongText(label=_("Your comment"), rows=4, error_messages={"required": _("Can't be blank")})

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, auto_id="comment-%s", **kwargs)

    def clean_content(self) -> str:
        content = self.cleaned_data["content"]
        if not content.strip():
            raise forms.ValidationError(_("Can't be blank"))
        return content


class CommentForm(CommentTextForm):
    """The form for a new comment. The team can choose that only the team sees the comment."""

    internal = forms.BooleanField(label=_("Internal: only the team can see it"), required=False)

    def __init__(self, *args: Any, user: User | None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.may_be_internal = user is not None and user.is_team
        # If the session has ended, the form is shown again to a visitor. The choice must not be lost then.
        is_chosen = bool((self.data if self.is_bound else self.initial).get("internal"))
        if not self.may_be_internal and not is_chosen:
            del self.fields["internal"]

    def clean_internal(self) -> bool:
        if self.cleaned_data["internal"] and not self.may_be_internal:
            raise forms.ValidationError(_("Only the team can write internal comments"))
        return bool(self.cleaned_data["internal"])


class EditCommentForm(CommentTextForm):
    # The digest of the text when the form was opened.
    version = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.fields["content"].label = pgettext_lazy("noun", "Comment")

    @staticmethod
    def version_of(comment: Comment) -> str:
        return hashlib.sha256(comment.comment.encode()).hexdigest()

    @classmethod
    def initial_values(cls, comment: Comment) -> dict[str, str]:
        return {"content": comment.comment, "version": cls.version_of(comment)}


def categories_of(account: Account, forum_id: int) -> list[Category]:
    return list(account.categories.of_forum(forum_id))
