"""The API page of the settings: the user's tokens and an overview of the examples. Below it, a page for the examples of each tag."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from accounts.confirmation.pages import ConfirmedPage
from accounts.examples.operations import (
    CODE_LANGUAGES,
    INTERFACES,
    Example,
    FilledExample,
    code_language,
    examples,
    fill_example,
    read_samples,
    samples_used_by,
    sections,
)
from accounts.examples.requests import execute
from accounts.hosts.requests import UserRequest
from accounts.sign_in.emails import email_new_token
from accounts.tokens.models import APIToken
from accounts.tokens.pages import TokenForm, read_visit_token, set_visit_token, values_of
from core.pages.base import Page, base_url, redirect
from core.pages.creation import CreatingPage, Creation


def code_context(request: UserRequest) -> dict[str, Any]:
    return {"code_languages": CODE_LANGUAGES.values(), "code_language": code_language(request.GET.get("lang"))}


def interfaces() -> list[tuple[str | Promise, list[tuple[str, list[Example]]]]]:
    """Return the names of the APIs, each with its sections of examples. The Account API comes first."""
    groups: dict[str | Promise, list[tuple[str, list[Example]]]] = {}
    for slug, section in sections().items():
        groups.setdefault(INTERFACES[section[0].language], []).append((slug, section))
    return list(groups.items())


class APIPage(Page):
    request: UserRequest
    access = "team"
    template_name = "accounts/examples/api.html"
    MAX_EXPIRED_SHOWN = 10

    def get(self, request: UserRequest) -> HttpResponse:
        return self.show()

    def show(self, *, row: APIToken | None = None, token: str = "") -> HttpResponse:
        request = self.request
        visit_token = read_visit_token(request)
        tokens = request.account.tokens.filter(user_id=request.user.id).order_by("-id")
        return self.render(
            part="api",
            tokens=[*tokens.usable()[: APIToken.MAX_PER_USER], *tokens.expired()[: self.MAX_EXPIRED_SHOWN]],
            row=row,
            token=token,
            address=base_url(request),
            filled=fill_example(
                examples()["read_account"], request, {"responsible": request.user.id}, token=token or visit_token
            ),
            visit_token=visit_token,
            interfaces=interfaces(),
            **code_context(request),
        )


class NewToken(ConfirmedPage, CreatingPage):
    """The form of a new token. A token outlives the session, so users confirm first that it is they."""

    access = "team"
    template_name = "accounts/tokens/new_token.html"

    def get(self, request: UserRequest) -> HttpResponse:
        return self.show(TokenForm())

    def post(self, request: UserRequest) -> HttpResponse:
        """Create a token. Respond with the page of the API instead of a redirect, because the token is shown only once."""
        form, issued = TokenForm(request.POST), list[str]()

        def create() -> APIToken:
            row, token = APIToken.objects.issue(
                request.user,
                label=form.cleaned_data["label"],
                expires_at=form.expires_at,
                scopes=form.scopes,
                networks=form.cleaned_data["networks"],
            )
            issued[:] = [token]
            email_new_token(request.user, request, row)
            return row

        creation = Creation(
            create=create,
            rows=request.account.tokens.filter(user_id=request.user.id, revoked_at=None),
            path=lambda row: reverse("accounts-tokens"),
            saved=values_of,
        )
        row = self.create_once(form, creation)
        if row is None:
            return self.show(form)
        if not issued:
            message = _("This token exists already, and was shown once. Revoke it if you did not copy it.")
            messages.info(request, message)
            return redirect("accounts-tokens")
        page = APIPage()
        page.setup(request)
        response = page.show(row=row, token=issued[0])
        set_visit_token(request, response, issued[0])
        return response

    def show(self, form: TokenForm) -> HttpResponse:
        return self.render_form(form, part="api")


class Examples(Page):
    request: UserRequest
    access = "team"
    template_name = "accounts/examples/examples.html"
    # The token that was created during this visit, or "".
    token = ""

    def get(self, request: UserRequest, section: str) -> HttpResponse:
        return self.show(self.fill_examples(section), section)

    def post(self, request: UserRequest, section: str) -> HttpResponse:
        """Execute an example as the signed-in user, for browsers without JavaScript."""
        filled_examples = self.fill_examples(section)
        submitted = next(
            (filled for filled in filled_examples if filled.example.id == request.POST.get("operation")), None
        )
        if submitted is None:
            raise Http404
        submitted.values = {key: request.POST.get(key, "").strip() for key in submitted.values}
        if submitted.body is not None:
            submitted.body = request.POST.get("body", "").replace("\r\n", "\n")
        if any("/" in value for _parameter, value in submitted.filled_parameters("path")):
            # A slash would select another view.
            submitted.error = _("A value in the path can't have a slash.")
        elif submitted.example.is_destructive and "sure" not in request.POST:
            submitted.error = _("Nothing was deleted: tick the box to confirm, then run it.")
        if submitted.error:
            return self.show(filled_examples, section, status=422)
        example = submitted.example
        submitted.response = execute(
            request,
            example.method,
            submitted.target,
            submitted.headers,
            submitted.body,
            media_type=example.media_type,
            language=example.language,
        )
        return self.show(filled_examples, section)

    def fill_examples(self, section: str) -> list[FilledExample]:
        if section not in sections():
            raise Http404
        section_examples = sections()[section]
        samples = read_samples(self.request, samples_used_by(section_examples))
        self.token = read_visit_token(self.request)
        return [fill_example(example, self.request, samples, token=self.token) for example in section_examples]

    def show(self, filled_examples: list[FilledExample], section: str, *, status: int = 200) -> HttpResponse:
        return self.render(
            http_status=status,
            part="api",
            filled_examples=filled_examples,
            tag=filled_examples[0].example.tag,
            shown_section=section,
            sections=[(slug, examples[0].tag) for slug, examples in sections().items()],
            token=self.token,
            **code_context(self.request),
        )
