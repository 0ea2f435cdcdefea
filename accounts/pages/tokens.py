"""The API page of the settings: the user's tokens and an overview of the examples."""

from datetime import date, datetime, time, timedelta
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import APIToken
from accounts.pages.examples import Example, code_context, examples, fill_example, sections
from accounts.pages.forms import Form
from accounts.pages.interfaces import INTERFACES
from accounts.pages.visit_token import read_visit_token, set_visit_token
from core.pages.base import Page, base_url, redirect
from core.pages.creation import CreatingPage, Creation
from core.requests import UserRequest

MAX_LIFETIME = timedelta(days=3650)


class TokenForm(Form):
    label = forms.CharField(
        label=gettext_lazy("Label"),
        max_length=255,
        help_text=gettext_lazy("What will use it, for example the name of a shop or a script."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    expires = forms.ChoiceField(
        label=gettext_lazy("Expires"),
        choices=[
            ("never", gettext_lazy("Never")),
            ("30", gettext_lazy("In 30 days")),
            ("90", gettext_lazy("In 90 days")),
            ("365", gettext_lazy("In a year")),
            ("date", gettext_lazy("After a date")),
        ],
    )
    until = forms.DateField(
        label=gettext_lazy("Last day"),
        required=False,
        help_text=gettext_lazy("Only if it expires after a date."),
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        if values.get("expires") == "date" and "until" not in self.errors:
            today, day = timezone.localdate(), values.get("until")
            if day is None:
                self.add_error("until", _("Can't be blank"))
            elif not today <= day <= today + MAX_LIFETIME:
                self.add_error("until", _("Must be today or later, and within ten years"))
        return values

    @property
    def expires_at(self) -> datetime | None:
        choice = self.cleaned_data["expires"]
        if choice == "never":
            return None
        if choice == "date":
            return timezone.make_aware(datetime.combine(self.cleaned_data["until"] + timedelta(days=1), time.min))
        return timezone.now() + timedelta(days=int(choice))


def last_day(row: APIToken) -> date | None:
    """Return the last day on which a token is valid."""
    return timezone.localdate(row.expires_at - timedelta(seconds=1)) if row.expires_at else None


def interfaces() -> list[tuple[str | Promise, list[tuple[str, list[Example]]]]]:
    """Return the names of the APIs, each with its sections of examples. The Account API comes first."""
    groups: dict[str | Promise, list[tuple[str, list[Example]]]] = {}
    for slug, section in sections().items():
        groups.setdefault(INTERFACES[section[0].language], []).append((slug, section))
    return list(groups.items())


class APIPage(CreatingPage):
    request: UserRequest
    access = "team"
    template_name = "accounts/api.html"
    MAX_EXPIRED_SHOWN = 10

    def get(self, request: UserRequest) -> HttpResponse:
        return self.show()

    def post(self, request: UserRequest) -> HttpResponse:
        """Create a token. Respond with the page instead of a redirect, because the token is shown only once."""
        form = TokenForm(request.POST)
        if not form.is_valid():
            return self.show(form)
        issued: list[str] = []

        def create() -> APIToken:
            row, token = APIToken.objects.issue(
                request.user, label=form.cleaned_data["label"], expires_at=form.expires_at
            )
            issued.append(token)
            return row

        creation = Creation(
            create=create,
            rows=request.account.tokens.filter(user_id=request.user.id, revoked_at=None),
            path=lambda row: reverse("accounts-tokens"),
            saved=lambda row: (
                {"label": row.label}
                | ({"expires": "date", "until": last_day(row)} if row.expires_at else {"expires": "never"})
            ),
        )
        row = self.create_once(form, creation)
        if isinstance(row, HttpResponse):
            return row
        if row is None:
            return self.show(form)
        if not issued:
            messages.info(
                request, _("This token exists already, and was shown once. Revoke it if you did not copy it.")
            )
            return redirect("accounts-tokens")
        response = self.show(row=row, token=issued[-1])
        set_visit_token(request, response, issued[-1])
        return response

    def show(self, form: TokenForm | None = None, *, row: APIToken | None = None, token: str = "") -> HttpResponse:
        request = self.request
        visit_token = read_visit_token(request)
        tokens = request.account.tokens.filter(user_id=request.user.id).order_by("-id")
        return self.render_form(
            form or TokenForm(),
            part="api",
            tokens=[*tokens.usable()[: APIToken.MAX_PER_USER], *tokens.expired()[: self.MAX_EXPIRED_SHOWN]],
            row=row,
            token=token,
            address=base_url(request),
            filled=fill_example(
                examples()["read_account"],
                request,
                {"responsible": request.user.id},
                token=token or visit_token,
            ),
            visit_token=visit_token,
            interfaces=interfaces(),
            **code_context(request),
        )


class RevokeToken(Page):
    request: UserRequest
    access = "team"

    def post(self, request: UserRequest, id: int) -> HttpResponse:
        token = request.account.tokens.filter(user_id=request.user.id, id=id).first()
        if token is None:
            raise Http404
        revoke = partial(request.user.revoke_token, id, by=request.user)
        self.perform(revoke, success_message=_("“%(label)s” is revoked.") % {"label": token.label or token.hint})
        return redirect("accounts-tokens")
