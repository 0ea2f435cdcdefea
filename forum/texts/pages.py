"""The pages and form fields for texts in Markdown."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from http import HTTPStatus
from typing import Any, cast

from django import forms
from django.http import HttpResponse
from django.urls import reverse

from accounts.attachments.uploading import MAX_FORM_BYTES, take_files
from accounts.layout.forms import Form
from accounts.sign_in.drafts import Draft, find_draft, forget_draft, keep_draft
from accounts.users.models import User
from core.errors import Throttled
from core.http import throttling
from core.pages.base import EarlyResponse, Page, redirect
from core.pages.creation import FORM_KEY, CreatingPage, Creation, RowT
from forum.forums.limits import is_new_member, limit_new_member
from forum.forums.pages.base import ResubmittablePage, only_members_message
from forum.forums.requests import ForumRequest, ForumUserRequest
from forum.texts.markdown import MAX_LENGTH, render

# The keys that forms have are shorter.
MAX_FORM_KEY_LENGTH = 100


class LongTextFormField(forms.CharField):
    """A text in Markdown. White space at its ends stays, because Markdown gives it a meaning. CRLF from browsers becomes LF."""

    def __init__(self, *, rows: int, **kwargs: Any):
        widget = forms.Textarea(attrs={"rows": rows, "data-markdown": ""})
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


def path_with_draft(path: str) -> str:
    """Return the address of the form with the draft that the browser has for this path."""
    return f"{path}?draft=1"


class CreatingTextPage(CreatingPage, WritingPage):
    """A page with a form that creates a suggestion or a comment.

    If visitors may use it, what they send is kept as a draft until they have signed in (`forum.texts.drafts`).
    """

    @property
    def takes_drafts(self) -> bool:
        return self.access == "anyone" and self.request.forum.may_be_read_by(None)

    def find_draft(self) -> Draft | None:
        """Return the draft to fill in the form with, if the address asks for it."""
        return find_draft(self.request, self.request.path) if "draft" in self.request.GET else None

    def review_draft(self, form: Any) -> HttpResponse | None:
        """Return the page that the visitor has to see before the draft is kept, or None."""
        return None

    def keep_draft(self, **kwargs: Any) -> HttpResponse | None:
        request = self.request
        if request.POST.get("act") != "draft" or not self.takes_drafts:
            return None
        form = self.make_form(request.POST)
        if not form.is_valid():
            return self.show(form, status=HTTPStatus.UNPROCESSABLE_ENTITY, **kwargs)
        if (page := self.review_draft(form)) is not None:
            return page
        values = {name: "1" if value is True else str(value) for name, value in form.cleaned_data.items() if value}
        values[FORM_KEY] = request.POST.get(FORM_KEY, "")[:MAX_FORM_KEY_LENGTH]
        path = reverse("forum-draft")
        response = HttpResponse(headers={"HX-Redirect": path}) if request.htmx else redirect(path)
        try:
            keep_draft(request, response, Draft(request.path, values))
        except Throttled as refused:
            return self.show_over_limit(form, refused, partial(self.show, form, **kwargs))
        return response

    def process_form(self, **kwargs: Any) -> HttpResponse:
        response = super().process_form(**kwargs)
        if response.status_code == HTTPStatus.SEE_OTHER and find_draft(self.request, self.request.path) is not None:
            forget_draft(self.request, response)
        return response

    def publish(self, **kwargs: Any) -> HttpResponse:
        """Process the draft of a visitor who has signed in, which is the submitted form. A person who may not take part gets it back."""
        user = cast(User, self.request.user)
        throttling.count_page_action(self.request)
        if self.request.forum.may_be_joined_by(user):
            return self.process_form(**kwargs)
        form = self.make_form(self.request.POST)
        form.add_error(None, only_members_message())
        return self.show(form, status=HTTPStatus.FORBIDDEN, **kwargs)

    def render(self, template: str | None = None, *, http_status: int = 200, **context: Any) -> HttpResponse:
        return super().render(template, http_status=http_status, **{"takes_drafts": self.takes_drafts} | context)

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
