"""Reset of a forgotten password through a link in an e-mail. The link works once, within a day."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.hosts.requests import PageRequest
from accounts.layout.forms import Form
from accounts.mail.limits import Purpose
from accounts.sessions.known_browsers import find_browser
from accounts.sessions.sign_in_log import RefusalReason, Way, log_refusal
from accounts.sessions.throttling import count_email_to_user
from accounts.sign_in.emails import PASSWORD, email_password_changed, email_password_link
from accounts.sign_in.forms import EndAccess
from accounts.sign_in.pages.email_links import EmailLinkPage
from accounts.sign_in.pages.sign_in import sign_in
from accounts.users.forms import NewPassword, check_password_rules
from accounts.users.models import User
from core.db.transactions import in_transaction
from core.http.throttling import count_from_address
from core.pages.base import Page, redirect


class PasswordResetForm(Form):
    login = forms.CharField(
        label=gettext_lazy("Login or e-mail"),
        max_length=255,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autofocus": True}),
    )


class PasswordReset(Page):
    template_name = "accounts/sign_in/password_reset.html"

    def get(self, request: PageRequest) -> HttpResponse:
        return self.render_form(PasswordResetForm())

    def post(self, request: PageRequest) -> HttpResponse:
        form = PasswordResetForm(request.POST)
        if not form.is_valid():
            return self.render_form(form)
        account, login = request.account, form.cleaned_data["login"]
        # Do the same work for an unknown name, so that the response time does not show whether it exists.
        user, is_known = User.objects.find_for_password_reset(account, login)
        user_id = user.id if is_known else None
        if user_id is None or not find_browser(request, user_id):
            count_from_address(request, PASSWORD)
        if count_email_to_user(request, Purpose.PASSWORD, login, user_id=user_id):
            email_password_link(user, request, deliver=is_known)
        else:
            log_refusal(request, Way.PASSWORD_LINK, RefusalReason.TOO_MANY, user=user if is_known else None, name=login)
        return redirect("accounts-password-sent")


class SetPasswordForm(Form):
    password = NewPassword(label=gettext_lazy("New password"))
    ends_access = EndAccess()

    def __init__(self, data: QueryDict | None = None, *, user: User) -> None:
        super().__init__(data)
        self.user = user

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        check_password_rules(self, "password", self.user)
        return values


class PasswordResetConfirm(EmailLinkPage):
    template_name = "accounts/sign_in/password_reset_confirm.html"
    purpose, retry_route = PASSWORD, "accounts-password"

    def render_invalid_link(self) -> HttpResponse:
        log_refusal(self.request, Way.PASSWORD_LINK, RefusalReason.INVALID_LINK)
        return super().render_invalid_link()

    def get(self, request: PageRequest) -> HttpResponse:
        return self.render_form(SetPasswordForm(user=self.user), user=self.user)

    def post(self, request: PageRequest) -> HttpResponse:
        form = SetPasswordForm(request.POST, user=self.user)
        if not form.is_valid():
            return self.render_form(form, user=self.user)

        def act() -> bool:
            is_valid = self.read_link(lock=True)
            if is_valid:
                self.user.change_password(form.cleaned_data["password"], ends_access=form.cleaned_data["ends_access"])
                email_password_changed(self.user, request)
            return is_valid

        if not in_transaction(act):
            return self.render_invalid_link()
        messages.success(request, _("Your password is changed, and you are signed in."))
        # The sessions of the user have ended, perhaps including that of this browser.
        return sign_in(request, redirect(settings.HOME_URL), self.user, way=Way.PASSWORD_LINK)
