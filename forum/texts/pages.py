"""The pages and form fields for texts in Markdown."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

from django import forms
from django.http import HttpResponse

from accounts.layout.forms import Form
from core.http import throttling
from core.pages.base import Page
from core.pages.creation import CreatingPage
from forum.forums.limits import LimitedModel, is_new_member, limit_new_member
from forum.forums.pages.base import ResubmittablePage
from forum.forums.requests import ForumRequest, ForumUserRequest
from forum.texts.markdown import render

TEXT_LENGTH = 65_536


class LongTextFormField(forms.CharField):
    """A text in Markdown. White space at its ends stays, because Markdown gives it a meaning. CRLF from browsers becomes LF."""

    def __init__(self, *, rows: int, **kwargs: Any):
        widget = forms.Textarea(attrs={"rows": rows})
        super().__init__(max_length=TEXT_LENGTH, strip=False, widget=widget, **kwargs)

    def to_python(self, value: object) -> str:
        return (super().to_python(value) or "").replace("\r\n", "\n")


class WritingPage(ResubmittablePage):
    """A page with a form for a Markdown text."""

    access = "user"
    for_members = "always"

    @property
    def wants_preview(self) -> bool:
        """True if the preview button was used. A visitor gets no preview, because previews are limited per user."""
        return self.request.user is not None and self.request.POST.get("act") == "preview"

    def show(self, form: Form, template: str | None = None, *, status: int = 200, **context: Any) -> HttpResponse:
        preview = None
        if self.wants_preview:
            throttling.count_preview(self.request)
            preview = render(form["content"].value() or "")
        return self.render(
            template,
            http_status=status,
            section="suggestions",
            form=form,
            preview=preview,
            **context,
        )

    def submitted_values(self) -> dict[str, str]:
        """Return the submitted values, as initial values for a form that shows them without validating them."""
        return self.request.POST.dict()


class CreatingTextPage(CreatingPage, WritingPage):
    """A page with a form that creates a suggestion or a comment."""

    def limit_new_member(self, model: type[LimitedModel]) -> AbstractContextManager[None]:
        """Return the context manager that limits the texts of a new member. A form that has created its text before is not counted."""
        user = cast(ForumUserRequest, self.request).user
        if is_new_member(user) and self.created_row_id() is not None:
            return nullcontext()
        return limit_new_member(self.request, user, model)


class PreviewPart(Page):
    """The part of a page with the preview of a text."""

    def post(self, request: ForumRequest) -> HttpResponse:
        has_ended = request.user is None
        text = "" if has_ended else request.POST.get("content", "")
        throttling.count_preview(request)
        return self.render("forum/texts/preview.html", preview=render(text), session_has_ended=has_ended)
