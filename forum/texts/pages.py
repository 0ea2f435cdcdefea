"""The pages and form fields for texts in Markdown."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from http import HTTPStatus
from typing import Any, cast

from django import forms
from django.http import HttpResponse

from accounts.attachments.uploading import MAX_FORM_BYTES, take_files
from accounts.layout.forms import Form
from core.errors import Throttled
from core.http import throttling
from core.pages.base import EarlyResponse, Page
from core.pages.creation import CreatingPage, Creation, RowT
from forum.forums.limits import is_new_member, limit_new_member
from forum.forums.pages.base import ResubmittablePage
from forum.forums.requests import ForumRequest, ForumUserRequest
from forum.texts.markdown import MAX_LENGTH, render


class LongTextFormField(forms.CharField):
    """A text in Markdown. White space at its ends stays, because Markdown gives it a meaning. CRLF from browsers becomes LF."""

    def __init__(self, *, rows: int, **kwargs: Any):
        widget = forms.Textarea(attrs={"rows": rows})
        super().__init__(max_length=MAX_LENGTH, strip=False, widget=widget, **kwargs)

    def to_python(self, value: object) -> str:
        return (super().to_python(value) or "").replace("\r\n", "\n")

    def validate(self, value: str) -> None:
        super().validate(value.strip())


class WritingPage(ResubmittablePage):
    """A page with a form for a Markdown text."""

    access = "user"
    for_members = "always"
    max_body_bytes = MAX_FORM_BYTES
    # What identifies the files of the form, besides its other values.
    sent_files: Mapping[str, object] = {}
    # Return the form. The arguments are those of its class.
    make_form: Callable[..., Any]
    # Save the text of a valid form. The further arguments are those of the path.
    save: Callable[..., HttpResponse]

    @property
    def wants_preview(self) -> bool:
        """True if the preview button was used. A visitor gets no preview, because previews are limited per user."""
        return self.request.user is not None and self.request.POST.get("act") == "preview"

    def process_form(self, **kwargs: Any) -> HttpResponse:
        self.sent_files = take_files(self.request, "content")
        if self.wants_preview:
            return self.show_submitted(HTTPStatus.OK, **kwargs)
        form = self.make_form(self.request.POST)
        if not form.is_valid():
            return self.show(form, status=HTTPStatus.UNPROCESSABLE_ENTITY, **kwargs)
        return self.save(form, **kwargs)

    def show_submitted(self, status: int, **kwargs: Any) -> HttpResponse:
        # The values are initial ones, which are shown without being validated.
        return self.show(self.make_form(initial=self.request.POST.dict()), status=status, **kwargs)

    def show(self, form: Form, template: str | None = None, *, status: int = 200, **context: Any) -> HttpResponse:
        preview = None
        if self.wants_preview:
            throttling.count_preview(self.request)
            preview = render(form["content"].value() or "")
        return self.render(template, http_status=status, section="suggestions", form=form, preview=preview, **context)


class CreatingTextPage(CreatingPage, WritingPage):
    """A page with a form that creates a suggestion or a comment."""

    def create_text(
        self, form: Form, creation: Creation[RowT], values: Mapping[str, object], kind: str, **kwargs: Any
    ) -> RowT:
        """Return the row that the form creates. Raise EarlyResponse with the page if the form has errors. `kwargs` are arguments of `show`.

        For a new member the row is counted against the limit of its kind, unless the form has created it before.
        """
        user = cast(ForumUserRequest, self.request).user
        is_repeated = is_new_member(user) and self.created_row_id() is not None
        try:
            with nullcontext() if is_repeated else limit_new_member(self.request, user, kind):
                row = self.create_once(form, creation, values, self.sent_files)
        except Throttled as refused:
            raise EarlyResponse(self.show_over_limit(form, refused, partial(self.show, form, **kwargs))) from None
        if row is None:
            raise EarlyResponse(self.show(form, status=HTTPStatus.UNPROCESSABLE_ENTITY, **kwargs))
        return row


class PreviewPart(Page):
    """The part of a page with the preview of a text."""

    def post(self, request: ForumRequest) -> HttpResponse:
        has_ended = request.user is None
        text = "" if has_ended else request.POST.get("content", "")
        throttling.count_preview(request)
        return self.render("forum/texts/preview.html", preview=render(text), session_has_ended=has_ended)
