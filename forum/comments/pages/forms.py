"""The forms of comments."""

import hashlib
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.layout.forms import Form
from accounts.users.models import User
from forum.comments.models import Comment
from forum.texts.pages import LongTextFormField


class CommentTextForm(Form):
    content = LongTextFormField(label=_("Your comment"), rows=4, error_messages={"required": _("Can't be blank")})

    def __init__(self, *args: object, **kwargs: object):
        super().__init__(*args, auto_id="comment-%s", **kwargs)

    def clean_content(self) -> str:
        content: str = self.cleaned_data["content"]
        if not content.strip():
            raise forms.ValidationError(_("Can't be blank"))
        return content


class CommentForm(CommentTextForm):
    """The form for a new comment. The team can choose that only the team sees the comment."""

    internal = forms.BooleanField(label=_("Internal: only the team can see it"), required=False)

    def __init__(self, *args: Any, user: User | None, **kwargs: object):
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

    def __init__(self, *args: object, **kwargs: object):
        super().__init__(*args, **kwargs)
        self.fields["content"].label = pgettext_lazy("noun", "Comment")

    @staticmethod
    def version_of(comment: Comment) -> str:
        return hashlib.sha256(comment.comment.encode()).hexdigest()

    @classmethod
    def initial_values(cls, comment: Comment) -> dict[str, str]:
        return {"content": comment.comment, "version": cls.version_of(comment)}
