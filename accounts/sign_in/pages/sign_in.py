"""Signing in and out, and the language of the pages."""

from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.middleware.csrf import rotate_token
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override

from accounts.hosts.requests import PageRequest
from accounts.layout.forms import Form
from accounts.sessions import passwords, throttling
from accounts.sessions.cookies import SESSION_COOKIE, VISIT_TOKEN_COOKIE, delete_cookie, set_cookie
from accounts.sessions.known_browsers import find_browser, remember_browser
from accounts.sessions.models import Session
from accounts.sessions.sign_in_log import Way, log_sign_in
from accounts.sign_in.emails import email_new_browser
from accounts.sign_in.forms import too_many_attempts
from accounts.users.models import User
from core.db.text import is_xml_text
from core.errors import Throttled
from core.pages.base import Page, redirect, safe_path
from core.pages.formatting import LANGUAGE_COOKIE
from core.pages.navigation import home_path, start_path

LANGUAGE_LIFETIME = timedelta(days=365)


def sign_in(
    request: PageRequest, response: HttpResponse, user: User, *, way: Way = Way.HANDOVER, family: UUID | None = None
) -> HttpResponse:
    """Start a session of the user, end the browser's previous one, and return the response with the session cookie.

    A user who has not signed in in this browser before gets an e-mail about it, unless one says already that the password was changed.

    At a custom domain, the session and `user` have the rights of a member. A redirect to the home page becomes one to the page at which the
    user starts. `family` is that of the session at another host from which this one is handed over, to the page that the user has chosen.
    """
    if request.session is not None:
        request.session.end()
    agent, domain = request.headers.get("User-Agent", ""), request.address.domain
    row, secret = Session.objects.start(user, agent=agent, family=family, domain=domain)
    set_cookie(response, SESSION_COOKIE, secret, Session.LIFETIME)
    log_sign_in(request, user, way)
    if way in (Way.PASSWORD, Way.CODE) and not user.is_new and not find_browser(request, user.id):
        email_new_browser(user, request, row)
    remember_browser(request, response, user)
    # Another person may have seen the CSRF token in a page before the sign-in.
    rotate_token(request)
    if family is None and response.headers.get("Location") == home_path():
        response.headers["Location"] = start_path(request.account, user)
    return response


class VisitorPage(Page):
    """A page for visitors. A user is redirected to the page `next`."""

    request: PageRequest

    def check_access(self) -> HttpResponse | None:
        if self.request.user is not None:
            return redirect(safe_path(self.request, self.request.GET.get("next")))
        return super().check_access()


class SignInForm(Form):
    login = forms.CharField(
        label=gettext_lazy("Login or e-mail"),
        max_length=255,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autofocus": True}),
    )
    password = forms.CharField(
        label=gettext_lazy("Password"),
        max_length=1024,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    next = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: QueryDict | None = None, *, request: PageRequest, target: str = "") -> None:
        super().__init__(data, initial={"next": target})
        self.request = request

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        if self.errors:
            return values
        account_id, name = self.request.account.id, values["login"]
        self.user = User.objects.find_by_login(account_id, name) if is_xml_text(name) else None
        try:
            attempt = throttling.LoginAttempt(self.request, account_id, name, Way.PASSWORD)
            if not passwords.verify(self.user, values["password"], attempt=attempt):
                self.add_error(None, _("The login or the password is wrong."))
        except Throttled as refused:
            self.add_error(None, too_many_attempts(refused))
        return values


class SignIn(Page):
    template_name = "accounts/sign_in/sign_in.html"

    def get(self, request: PageRequest) -> HttpResponse:
        target = safe_path(request, request.GET.get("next"))
        if request.user is not None:
            return redirect(target)
        form = SignInForm(request=request, target=target)
        # `unsaved` means that a form was submitted after the session had ended (`core.pages.navigation.sign_in_path`).
        return self.render_form(form, nothing_was_saved="unsaved" in request.GET)

    def post(self, request: PageRequest) -> HttpResponse:
        form = SignInForm(request.POST, request=request)
        if not form.is_valid():
            return self.render_form(form)
        target = safe_path(request, form.cleaned_data["next"])
        return sign_in(request, redirect(target), cast(User, form.user), way=Way.PASSWORD)


class SignOut(Page):
    def post(self, request: PageRequest) -> HttpResponse:
        if request.session is not None:
            request.session.end()
        response = redirect(settings.HOME_URL)
        delete_cookie(response, SESSION_COOKIE)
        if VISIT_TOKEN_COOKIE in request.COOKIES:
            delete_cookie(response, VISIT_TOKEN_COOKIE)
        messages.success(request, _("You are signed out."))
        return response


class ChangeLanguage(Page):
    """The action that changes the language of the pages. It stores the language in a cookie, and for a user also in the profile."""

    def post(self, request: PageRequest) -> HttpResponse:
        response = redirect(safe_path(request, request.POST.get("next")))
        language = request.POST.get("language")
        if language in dict(settings.LANGUAGES):
            set_cookie(response, LANGUAGE_COOKIE, language, LANGUAGE_LIFETIME)
            if request.user is not None:
                User.objects.filter(pk=request.user.pk).update(language=language)
            with override(language):
                # Translators: the message after a change of the language. Write the name of your own language instead of English.
                messages.success(request, _("The pages are in English now."))
        return response
