"""Drafts of visitors who have not signed in: the page that asks for the e-mail, and the one for the code, after which the text is published."""

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.urls import resolve, reverse
from django.utils.translation import gettext as _

from accounts.sign_in.drafts import Draft, find_draft
from accounts.sign_in.pages.sign_in import CodePage, CodeRequestForm, CodeRequestPage
from accounts.users.models import User
from core.http import throttling
from core.pages.base import EarlyResponse, redirect
from core.pages.creation import text_of
from forum.forums.pages.base import ForumPage
from forum.forums.requests import ForumRequest
from forum.texts.markdown import render
from forum.texts.pages import CreatingTextPage, path_with_draft


def page_of(request: ForumRequest, draft: Draft) -> CreatingTextPage:
    """Return the page with the form of the draft."""
    match = resolve(draft.path)
    page: CreatingTextPage = match.func.view_class()  # type: ignore[attr-defined]  # missing in the stubs
    page.setup(request, **match.kwargs)
    return page


class DraftStep(ForumPage):
    """The base of the pages between a draft and its publication. A user who is signed in is redirected to the form."""

    indexed = False
    draft: Draft

    def check_access(self) -> HttpResponse | None:
        if (response := super().check_access()) is not None:
            return response
        draft = find_draft(self.request)
        if draft is None:
            if self.request.user is None:
                # For a user, the other click of a double click has published it.
                messages.error(self.request, _("We keep what you write for two hours. Please write it again."))
            return redirect("forum-suggestions")
        self.draft = draft
        return None if self.request.user is None else redirect(path_with_draft(draft.path))


class DraftPage(DraftStep, CodeRequestPage):
    """The page that shows what will be published, and asks for the e-mail address of its author."""

    request: ForumRequest
    template_name = "forum/texts/draft.html"

    def get(self, request: ForumRequest) -> HttpResponse:
        return self.show(CodeRequestForm())

    def post(self, request: ForumRequest) -> HttpResponse:
        form = CodeRequestForm(request.POST)
        response = self.send_code(form) if form.is_valid() else None
        return response or self.show(form)

    def show(self, form: CodeRequestForm) -> HttpResponse:
        throttling.count_search(self.request)
        values, target = self.draft.values, path_with_draft(self.draft.path)
        written = page_of(self.request, self.draft).make_form(initial=values)
        lines = [
            (field.label, text_of(field.field, field.value()))
            for field in written.visible_fields()
            if field.name not in ("title", "content") and field.value()
        ]
        content = render(values.get("content", ""))
        return self.render_form(form, written=values, content=content, lines=lines, target=target)

    def code_path(self) -> str:
        return reverse("forum-draft-code")


class DraftCodePage(DraftStep, CodePage):
    """The page for the code. The right code signs the visitor in and publishes the draft."""

    request: ForumRequest
    template_name = "forum/texts/draft_code.html"

    def retry_path(self) -> str:
        return reverse("forum-draft")

    def target_path(self) -> str:
        return path_with_draft(self.draft.path)

    def finish(self, response: HttpResponse, user: User) -> HttpResponse:
        request, path = self.request, self.draft.path
        page = page_of(request, self.draft)
        # From here on, this is the request that the form would send.
        request.path, request.path_info, request.resolver_match = path, path, resolve(path)
        values = QueryDict(mutable=True)
        values.update(self.draft.values)
        request.POST = values  # type: ignore[assignment]  # the stubs expect an immutable one
        try:
            return page.publish(**page.kwargs)
        except EarlyResponse as early:
            return early.response
