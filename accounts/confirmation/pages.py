"""The step in which users confirm that it is they who use the browser, before acts that somebody else must not do.

A session is confirmed by the sign-in, and by the page below. Pages that derive from `ConfirmedPage` ask for it again after a while.
"""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.utils.translation import gettext as _

from accounts.hosts.requests import UserRequest
from accounts.layout.forms import Form
from accounts.sessions.cookies import CODE_COOKIE, delete_cookie, set_cookie
from accounts.sessions.throttling import RefusalReason, Way, log_refusal, log_sign_in
from accounts.sign_in.forms import (
    Code,
    CurrentPassword,
    send_code,
    too_many_attempts,
    verify_code,
    verify_current_password,
)
from accounts.sign_in.models import SignInCode
from core.errors import Throttled
from core.pages.base import Page, redirect, safe_path

PURPOSE = "confirmation"


class ConfirmedPage(Page):
    """A page for users who have confirmed that it is they. Others are led to the page that asks them, and back."""

    request: UserRequest
    access = "user"

    def check_access(self) -> HttpResponse | None:
        response = super().check_access()
        if response is None and not self.request.session.is_confirmed:
            target = self.request.get_full_path() if self.request.method in ("GET", "HEAD") else self.request.path
            return redirect("accounts-confirm", query={"next": target})
        return response


class ConfirmationForm(Form):
    """The password, or the code of an e-mail if one was sent or the user has no password."""

    current = CurrentPassword()
    code = Code()

    def __init__(self, data: QueryDict | None = None, *, request: UserRequest) -> None:
        super().__init__(data)
        self.request = request
        secret = request.COOKIES.get(CODE_COOKIE, "")
        self.has_code = SignInCode.objects.usable(request.account.id, secret, purpose=PURPOSE).exists()
        if self.has_code or not request.user.has_usable_password():
            del self.fields["current"]
        if not self.has_code:
            del self.fields["code"]

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        if not self.errors:
            try:
                self.verify(values)
            except Throttled as refused:
                log_refusal(self.request, Way.CONFIRMATION, RefusalReason.TOO_MANY, user=self.request.user)
                self.add_error(None, too_many_attempts(refused))
        return values

    def verify(self, values: dict[str, Any]) -> None:
        if "code" in values and not verify_code(self.request, values["code"], purpose=PURPOSE):
            self.add_error("code", _("Is not the code from the newest e-mail"))
        elif "current" in values and not verify_current_password(self.request, values["current"]):
            self.add_error("current", _("Is wrong"))


class ConfirmPage(Page):
    request: UserRequest
    access = "user"
    works_when_closed = works_without_second_factor = True
    template_name = "accounts/confirmation/confirm.html"

    def get(self, request: UserRequest) -> HttpResponse:
        return self.render_form(ConfirmationForm(request=request), next=self.target)

    def post(self, request: UserRequest) -> HttpResponse:
        if request.POST.get("do") == "code":
            response = redirect("accounts-confirm", query={"next": self.target})
            if (secret := send_code(request, "accounts/mail/confirmation_code.txt", purpose=PURPOSE)) is not None:
                set_cookie(response, CODE_COOKIE, secret, SignInCode.LIFETIME)
            return response
        form = ConfirmationForm(request.POST, request=request)
        if not form.fields:
            messages.error(request, _("This code no longer works. We can send you another one."))
            return redirect("accounts-confirm", query={"next": self.target})
        if not form.is_valid():
            return self.render_form(form, next=self.target)
        request.session.confirm()
        log_sign_in(request, request.user, Way.CONFIRMATION)
        response = redirect(self.target)
        delete_cookie(response, CODE_COOKIE)
        return response

    @property
    def target(self) -> str:
        """The page to which the user returns."""
        return safe_path(self.request, self.request.POST.get("next") or self.request.GET.get("next"))
