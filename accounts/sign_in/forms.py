"""The fields of forms with which users confirm who they are: the current password, and the code of an e-mail."""

import re
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from accounts.hosts.requests import UserRequest
from accounts.layout.forms import Form
from accounts.sessions import passwords, throttling
from accounts.sessions.cookies import CODE_COOKIE
from accounts.sessions.throttling import RefusalReason, Way, log_refusal
from accounts.sign_in.emails import email_user
from accounts.sign_in.models import CodeExpired, SignInCode
from core.db.transactions import in_transaction
from core.errors import Throttled


class CurrentPassword(forms.CharField):
    """The current password of the user. The form verifies it."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.PasswordInput(attrs={"autocomplete": "current-password"})
        super().__init__(max_length=1024, strip=False, widget=widget, **{"label": _("Current password"), **kwargs})


class Code(forms.CharField):
    """The code of an e-mail. Blanks and hyphens in it are ignored."""

    def __init__(self) -> None:
        attributes = {"autocomplete": "one-time-code", "inputmode": "numeric", "class": "short"}
        super().__init__(label=_("Code from the e-mail"), max_length=20, widget=forms.TextInput(attrs=attributes))

    def clean(self, value: object) -> str:
        code = re.sub(r"[\s-]", "", super().clean(value))
        if code and not (code.isascii() and code.isdigit() and len(code) == SignInCode.DIGITS):
            raise ValidationError(_("A code has six digits"))
        return code


class EndAccess(forms.BooleanField):
    """The offer to end, together with the old password, what works without it (`User.change_password`)."""

    def __init__(self) -> None:
        super().__init__(
            label=_("Also revoke my API tokens and the address of my calendar"),
            help_text=_("Choose this if somebody else may know your password. Your programs then need new ones."),
            required=False,
        )


class PasswordConfirmationForm(Form):
    """A form that asks for the current password, in the field `current`, because somebody else may be using the browser."""

    def __init__(self, data: QueryDict | None = None, *, request: UserRequest) -> None:
        super().__init__(data)
        self.request = request

    def clean_current(self) -> str:
        password: str = self.cleaned_data["current"]
        try:
            if not verify_current_password(self.request, password):
                self.add_error("current", _("Is wrong"))
        except Throttled as refused:
            self.add_error("current", too_many_attempts(refused))
        return password


def verify_current_password(request: UserRequest, password: str) -> bool:
    """Return whether the password is that of the user. Raise Throttled after too many wrong ones."""
    user = request.user
    attempt = throttling.LoginAttempt(request, user.account_id, user.login, Way.CONFIRMATION)
    return passwords.verify(user, password, attempt=attempt)


def send_code(request: UserRequest, template: str, *, purpose: str = "") -> str | None:
    """Send the user a code to confirm an act. Return the secret for the cookie, or None after too many e-mails. Tell the user either way."""
    user = request.user
    try:
        may_send = throttling.count_code_request(request, user.email, user)
    except Throttled:
        may_send = False
    if not may_send:
        log_refusal(request, Way.CONFIRMATION, RefusalReason.TOO_MANY, user=user)
        messages.error(request, gettext("Your address has got too many e-mails. Try again in an hour."))
        return None

    def act() -> str:
        former = request.COOKIES.get(CODE_COOKIE, "")
        code, secret = SignInCode.objects.make(request.account, user.email, replaces=former, purpose=purpose)
        email_user(user, template, request, code=code)
        return secret

    secret = in_transaction(act)
    messages.success(request, gettext("An e-mail to %(email)s is on its way.") % {"email": user.email})
    return secret


def verify_code(request: UserRequest, code: str, *, purpose: str = "") -> bool:
    """Return whether the code is that of the newest e-mail of `send_code`. Raise Throttled after too many attempts."""
    secret, reason = request.COOKIES.get(CODE_COOKIE, ""), RefusalReason.WRONG_CODE
    throttling.count_code(request)
    try:
        email = in_transaction(lambda: SignInCode.objects.use(request.account.id, secret, code, purpose=purpose))
    except CodeExpired:
        email, reason = "", RefusalReason.EXPIRED_CODE
    if email == request.user.email:
        throttling.refund_code(request)
        return True
    log_refusal(request, Way.CONFIRMATION, reason, user=request.user)
    return False


def too_many_attempts(refused: Throttled) -> str:
    minutes = int(refused.wait // 60) + 1
    message = ngettext(
        "Too many attempts. Try again in %(minutes)d minute.",
        "Too many attempts. Try again in %(minutes)d minutes.",
        minutes,
    )
    return message % {"minutes": minutes}
