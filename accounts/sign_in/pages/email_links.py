"""Pages that a link in an e-mail opens: the reset of a forgotten password, and the form with which invited people become users.

The pages never show whether an e-mail address belongs to a user. Every address gets the same response, and the e-mail explains what
to do.
"""

from http import HTTPStatus
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.urls import reverse
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from accounts.hosts.requests import PageRequest
from accounts.layout.forms import Form
from accounts.layout.settings import parse_id
from accounts.mail.sending import Purpose, read_link
from accounts.sessions.cookies import find_browser
from accounts.sessions.throttling import RefusalReason, Way, count_email_to_user, log_refusal
from accounts.sign_in.emails import PASSWORD, email_password_changed, email_password_link
from accounts.sign_in.forms import EndAccess
from accounts.sign_in.pages.sign_in import LoginForm, VisitorPage, sign_in
from accounts.users.forms import LoginFormField, NewPassword, check_login, check_password_rules
from accounts.users.invitations import Invitation
from accounts.users.models import User
from core.db.transactions import in_transaction
from core.http.throttling import count_from_address
from core.pages.base import Page, redirect, safe_path
from core.pages.navigation import home_path, sign_in_path
from core.rows.trimmed import fold_email


class EmailLinkPage(Page):
    """A page that a signed link in an e-mail opens. The link works once and identifies its user."""

    request: PageRequest
    purpose = ""
    # The route of the page that sends another link.
    retry_route = ""
    user: User
    # The signed data of the link.
    payload: dict[str, Any]

    def check_access(self) -> HttpResponse | None:
        return super().check_access() if self.read_link() else self.render_invalid_link()

    def read_link(self, *, lock: bool = False) -> bool:
        """Return whether the link is valid. If it is, set `user` and `payload`.

        With `lock`, lock the user, so that concurrent requests use the link one after another.
        """
        id, token = parse_id(self.request.GET.get("user")), self.request.GET.get("token", "")
        users = self.request.account.users.filter(id=id or 0, is_active=True)
        user = (users.select_for_update(no_key=True) if lock else users).first()
        payload = None if user is None else read_link(token, *user.link_subject(self.purpose))
        if user is None or payload is None:
            return False
        self.user, self.payload = user, payload
        return True

    def render_invalid_link(self) -> HttpResponse:
        return render_invalid_link(self, self.retry_route)


class EmailSent(Page):
    """The page after a form that sends a link. It is the same for all e-mail addresses."""

    works_when_closed = True
    template_name = "accounts/sign_in/email_sent.html"
    # The purpose of the link, and the route of the form.
    purpose = retry_route = ""

    def get(self, request: PageRequest) -> HttpResponse:
        return self.render(purpose=self.purpose, retry_url=reverse(self.retry_route))


def render_invalid_link(page: Page, retry_route: str = "", *, unsubscribes: bool = False) -> HttpResponse:
    """Render the page for a link that does not work.

    `retry_route` names the page that sends another one, if there is one. Links to unsubscribe do not expire.
    """
    return page.render(
        "accounts/sign_in/invalid_link.html",
        http_status=HTTPStatus.NOT_FOUND,
        retry_url=reverse(retry_route) if retry_route else "",
        unsubscribes=unsubscribes,
    )


class PasswordReset(Page):
    """The page that sends a link to set another password. The link works once, within a day."""

    works_when_closed = True
    template_name = "accounts/sign_in/password_reset.html"

    def get(self, request: PageRequest) -> HttpResponse:
        return self.render_form(LoginForm())

    def post(self, request: PageRequest) -> HttpResponse:
        form = LoginForm(request.POST)
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
    works_when_closed = True
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


class SignUp(VisitorPage):
    """The address of the page for signing up. It leads to that for signing in, where new people enter their e-mail as well."""

    http_method_names = ["get", "head"]

    def check_access(self) -> HttpResponse | None:
        response = super().check_access()
        if response is None and not self.request.site.takes_sign_ups:
            return self.render("accounts/sign_in/sign_up_closed.html")
        return response

    def get(self, request: PageRequest) -> HttpResponse:
        return redirect(sign_in_path(safe_path(request, request.GET.get("next"))))


class RegistrationForm(Form):
    name = forms.CharField(
        label=gettext_lazy("Your name"),
        max_length=255,
        help_text=gettext_lazy("Shown next to what you write."),
        widget=forms.TextInput(attrs={"autocomplete": "name", "autofocus": True}),
    )
    login = LoginFormField()
    password = NewPassword()

    def __init__(self, data: QueryDict | None = None, *, email: str, login: str = "") -> None:
        super().__init__(data, initial={"login": login})
        self.email = email

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        check_login(self, email=self.email)
        check_password_rules(
            self, "password", User(login=values.get("login") or "", email=self.email, name=values.get("name") or "")
        )
        return values


class AcceptInvitation(Page):
    """The form for name, login and password, which the link of an invitation opens.

    Opening the link creates no user, because e-mail scanners open links.
    """

    request: PageRequest
    template_name = "accounts/sign_in/registration.html"
    invitation: Invitation

    def check_access(self) -> HttpResponse | None:
        invitation = Invitation.objects.find_by_secret(self.request.account.id, self.request.GET.get("secret", ""))
        if invitation is None:
            log_refusal(self.request, Way.INVITATION, RefusalReason.INVALID_LINK)
            return render_invalid_link(self)
        self.invitation = invitation
        return super().check_access() or self.redirect_registered()

    def get(self, request: PageRequest) -> HttpResponse:
        email = self.invitation.email
        login = User.objects.suggest_login(request.account.id, email)
        return self.show(RegistrationForm(email=email, login=login))

    def show(self, form: Form) -> HttpResponse:
        return self.render_form(form, invitation=self.invitation)

    def post(self, request: PageRequest) -> HttpResponse:
        form, created = RegistrationForm(request.POST, email=self.invitation.email), []

        def act() -> None:
            created.append(User.objects.accept(self.invitation, language=get_language(), **form.cleaned_data))

        if not form.is_valid() or not self.submit_form(form, act):
            # Another request may have registered the e-mail address meanwhile.
            return self.redirect_registered() or self.show(form)
        user = created[-1]
        if user is None:
            return render_invalid_link(self)
        messages.success(request, _("Welcome! You are signed in."))
        return sign_in(request, redirect(home_path()), user, way=Way.INVITATION)

    def redirect_registered(self) -> HttpResponse | None:
        """Return a redirect if a user has the e-mail address already."""
        request, key = self.request, fold_email(self.invitation.email)
        if request.user is not None and request.user.email_key == key:
            return redirect(home_path())
        if request.account.users.filter(email_key=key).exists():
            messages.info(request, _("You already have an account here. Please sign in."))
            return redirect(sign_in_path(home_path()))
        return None
