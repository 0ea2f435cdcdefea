"""The form of a new token, the action that revokes one, and the token that was created during the visit."""

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from functools import partial
from typing import Any

from django import forms
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.hosts.requests import UserRequest
from accounts.layout.forms import Form
from accounts.sessions.cookies import CODE_COOKIE, MAX_COOKIE_LENGTH, VISIT_TOKEN_COOKIE, set_cookie
from accounts.sessions.throttling import RefusalReason, Way, log_refusal
from accounts.sign_in.forms import Code, CurrentPassword, too_many_attempts, verify_code, verify_current_password
from accounts.sign_in.models import SignInCode
from accounts.tokens.models import APIToken
from core.errors import Throttled
from core.pages.base import Page, redirect
from core.sealing import SealError, seal, unseal

MAX_LIFETIME = timedelta(days=3650)


class TokenForm(Form):
    """The form of a new token.

    A token outlives the session, so the user confirms who they are: with the password, or with a code that was sent to their e-mail.
    """

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
    current = CurrentPassword()
    code = Code()

    def __init__(
        self, data: QueryDict | None = None, *, request: UserRequest, initial: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(data, initial=initial)
        self.request = request
        self.fields["current"].required = self.fields["code"].required = False
        if not request.user.has_usable_password():
            del self.fields["current"]
        if not SignInCode.objects.usable(request.account.id, request.COOKIES.get(CODE_COOKIE, "")).exists():
            del self.fields["code"]

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        self.clean_expiry(values)
        if not self.errors:
            # Last, because a code works once, and each wrong password counts.
            self.confirm(values)
        return values

    def clean_expiry(self, values: dict[str, Any]) -> None:
        if values.get("expires") == "date" and "until" not in self.errors:
            today, day = timezone.localdate(), values.get("until")
            if day is None:
                self.add_error("until", _("Can't be blank"))
            elif not today <= day <= today + MAX_LIFETIME:
                self.add_error("until", _("Must be today or later, and within ten years"))

    def confirm(self, values: dict[str, Any]) -> None:
        """Check the code, or else the password. Add an error if there is neither, or if it is wrong."""
        try:
            if values.get("code"):
                if not verify_code(self.request, values["code"]):
                    self.add_error("code", _("Is not the code from the newest e-mail"))
            elif values.get("current"):
                if not verify_current_password(self.request, values["current"]):
                    self.add_error("current", _("Is wrong"))
            else:
                self.add_error(None, _("Confirm that it is you, with your password or with a code by e-mail."))
        except Throttled as refused:
            log_refusal(self.request, Way.CONFIRMATION, RefusalReason.TOO_MANY, user=self.request.user)
            self.add_error(None, too_many_attempts(refused))

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
