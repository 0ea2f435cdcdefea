"""The form of a new token, the action that revokes one, and the token that was created during the visit."""

from datetime import date, datetime, time, timedelta
from functools import partial
from typing import Any

from django import forms
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.hosts.requests import UserRequest
from accounts.layout.forms import Form
from accounts.sessions.cookies import MAX_COOKIE_LENGTH, VISIT_TOKEN_COOKIE, set_cookie
from accounts.tokens.models import APIToken
from core.pages.base import Page, redirect
from core.rows.scopes import READ, WRITE, areas
from core.sealing import SealError, seal, unseal

MAX_LIFETIME = timedelta(days=3650)
# The choice of a token without scopes.
EVERYTHING = "all"


class TokenForm(Form):
    """The form of a new token."""

    label = forms.CharField(
        label=gettext_lazy("Label"),
        max_length=255,
        help_text=gettext_lazy("What will use it, for example the name of a shop or a script."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    expires = forms.ChoiceField(
        label=gettext_lazy("Expires"),
        initial="90",
        choices=[
            ("90", gettext_lazy("In 90 days")),
            ("30", gettext_lazy("In 30 days")),
            ("365", gettext_lazy("In a year")),
            ("date", gettext_lazy("After a date")),
            ("never", gettext_lazy("Never")),
        ],
    )
    until = forms.DateField(
        label=gettext_lazy("Last day"),
        required=False,
        help_text=gettext_lazy("Only if it expires after a date."),
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    scope = forms.ChoiceField(
        label=gettext_lazy("What it may be used for"),
        initial=EVERYTHING,
        widget=forms.RadioSelect,
        choices=[
            (EVERYTHING, gettext_lazy("Everything that you may do")),
            (WRITE, gettext_lazy("Reading and changing what is chosen below")),
            (READ, gettext_lazy("Only reading what is chosen below")),
        ],
    )
    areas = forms.MultipleChoiceField(
        label=gettext_lazy("Areas"),
        required=False,
        choices=lambda: areas.choices,
        widget=forms.CheckboxSelectMultiple(attrs={"class": "in-columns"}),
    )
    networks = forms.CharField(
        label=gettext_lazy("Only from these addresses"),
        max_length=2000,
        required=False,
        help_text=gettext_lazy(
            "IP addresses or networks, such as 203.0.113.0/24, each on its own line. Without any, it works from everywhere."
        ),
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
    )

    def clean_networks(self) -> list[str] | None:
        return self.cleaned_data["networks"].split() or None

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        if values.get("scope") == EVERYTHING:
            values["areas"] = []
        elif not values.get("areas") and "areas" not in self.errors:
            self.add_error("areas", _("Choose at least one area"))
        self.clean_expiry(values)
        return values

    def clean_expiry(self, values: dict[str, Any]) -> None:
        if values.get("expires") == "date" and "until" not in self.errors:
            today, day = timezone.localdate(), values.get("until")
            if day is None:
                self.add_error("until", _("Can't be blank"))
            elif not today <= day <= today + MAX_LIFETIME:
                self.add_error("until", _("Must be today or later, and within ten years"))

    @property
    def scopes(self) -> list[str] | None:
        scope = self.cleaned_data["scope"]
        return None if scope == EVERYTHING else [scope, *self.cleaned_data["areas"]]

    @property
    def expires_at(self) -> datetime | None:
        choice = self.cleaned_data["expires"]
        if choice == "never":
            return None
        if choice == "date":
            return timezone.make_aware(datetime.combine(self.cleaned_data["until"] + timedelta(days=1), time.min))
        return timezone.now() + timedelta(days=int(choice))


def values_of(row: APIToken) -> dict[str, object]:
    """Return the values of a token for the form."""
    scopes = row.scopes or []
    expiry = {"expires": "date", "until": last_day(row)} if row.expires_at else {"expires": "never"}
    return {
        "label": row.label,
        "scope": EVERYTHING if row.scopes is None else WRITE if WRITE in scopes else READ,
        "areas": [scope for scope in scopes if scope in areas.names],
        "networks": "\n".join(row.networks or []),
        **expiry,
    }


def last_day(row: APIToken) -> date | None:
    """Return the last day on which a token is valid."""
    return timezone.localdate(row.expires_at - timedelta(seconds=1)) if row.expires_at else None


class RevokeToken(Page):
    request: UserRequest
    access = "team"

    def post(self, request: UserRequest, id: int) -> HttpResponse:
        token = get_object_or_404(request.account.tokens, user_id=request.user.id, id=id)
        revoke = partial(request.user.revoke_token, id, by=request.user)
        self.perform(revoke, success_message=_("“%(label)s” is revoked.") % {"label": token.label or token.hint})
        return redirect("accounts-tokens")


# The token that a user created during this visit, for the code of the examples
#
# Only the digest of a token is stored. Until the browser is closed or the user signs out, the token itself is in an encrypted cookie
# that scripts cannot read. It is valid only together with the session in which the token was created.

SEAL_PURPOSE = "visit token"


def set_visit_token(request: UserRequest, response: HttpResponse, token: str) -> None:
    """Store a token for the rest of the visit."""
    sealed = seal([request.account.id, request.session.id, token], SEAL_PURPOSE)
    set_cookie(response, VISIT_TOKEN_COOKIE, sealed, None, samesite="Strict")


def read_visit_token(request: UserRequest) -> str:
    """Return the token of this visit. Return "" if there is none, or if it has been revoked or has expired."""
    sealed = request.COOKIES.get(VISIT_TOKEN_COOKIE, "")
    if not 0 < len(sealed) <= MAX_COOKIE_LENGTH:
        return ""
    try:
        account_id, session_id, token = unseal(sealed, SEAL_PURPOSE)
    except SealError:
        return ""
    if (account_id, session_id) != (request.account.id, request.session.id):
        return ""
    row = APIToken.objects.find_by_token(token)
    return token if row is not None and row.user.pk == request.user.pk else ""
