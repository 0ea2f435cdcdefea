"""Signing in and out, with a password or with a code from an e-mail, and the language of the pages.

The pages never show whether an e-mail address belongs to a user. Each address gets the same response after the same work. Other
apps can derive pages from `CodeRequestPage` and `CodePage`, to act for the user after a correct code.
"""

import hmac
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse, QueryDict
from django.middleware.csrf import rotate_token
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.html import format_html
from django.utils.translation import get_language, gettext_lazy, override
from django.utils.translation import gettext as _

from accounts.hosts.requests import PageRequest
from accounts.layout.forms import Form
from accounts.mail import sending as mail
from accounts.mail.sending import MAX_EMAILS_PER_ORIGIN
from accounts.sessions import passwords, throttling
from accounts.sessions.cookies import (
    CODE_COOKIE,
    FIRST_FACTOR_COOKIE,
    MAX_COOKIE_LENGTH,
    SESSION_COOKIE,
    VISIT_TOKEN_COOKIE,
    delete_cookie,
    find_browser,
    remember_browser,
    set_cookie,
)
from accounts.sessions.models import Session
from accounts.sessions.throttling import RefusalReason, Way, log_refusal, log_sign_in
from accounts.sign_in.emails import email_new_browser
from accounts.sign_in.forms import Code, CurrentPassword, too_many_attempts
from accounts.sign_in.models import CodeExpired, SignInCode
from accounts.users.forms import EmailFormField
from accounts.users.models import User
from accounts.users.names import is_common
from core.db.text import is_xml_text
from core.db.transactions import in_transaction
from core.errors import Throttled
from core.http.throttling import client_address_of
from core.pages.base import Page, redirect, safe_path
from core.pages.formatting import LANGUAGE_COOKIE
from core.pages.navigation import home_path, sign_in_path, start_path
from core.sealing import SealError, seal, unseal

# The time in which the second factor has to be entered.
FIRST_FACTOR, FIRST_FACTOR_LIFETIME = "first factor", timedelta(minutes=10)
# The ways after which no second factor is asked for. The session at the source of a hand-over had it.
WITH_SECOND_FACTOR = (Way.HANDOVER, Way.SECOND_FACTOR, Way.PASSKEY)
# The ways that an account can not forbid by enforcing single sign-on: that itself, and the ends of others that were allowed.
WITHOUT_ENFORCEMENT = (Way.SSO, Way.HANDOVER, Way.SECOND_FACTOR)
LANGUAGE_LIFETIME = timedelta(days=365)


def sign_in(
    request: PageRequest,
    response: HttpResponse,
    user: User,
    *,
    way: Way = Way.HANDOVER,
    family: UUID | None = None,
    is_verified: bool | None = None,
) -> HttpResponse:
    """Start a session of the user, end the browser's previous one, and return the response with the session cookie.

    For a user with a second factor, a redirect to the page that asks for it is returned instead, unless `way` is one with two factors.

    A user who has not signed in in this browser before gets an e-mail about it, unless one says already that the password was changed.

    At a custom domain, the session and `user` have the rights of a member. A redirect to the home page becomes one to the page at which the
    user starts. `family` is that of the session at another host from which this one is handed over, to the page that the user has chosen.
    """
    user.account = request.account
    if user.must_use_sso and way not in WITHOUT_ENFORCEMENT:
        log_refusal(request, way, RefusalReason.NEEDS_SSO, user=user)
        discard_messages(request)
        messages.error(request, _("Your organisation has you sign in with it: choose the button below."))
        return redirect(sign_in_path(response.headers.get("Location", "/")))
    if user.second_factor_at is not None and way not in WITH_SECOND_FACTOR and not is_verified:
        return ask_second_factor(request, response, user, way)
    if request.session is not None:
        request.session.end()
    agent, address = request.headers.get("User-Agent", ""), client_address_of(request)
    with transaction.atomic():
        is_verified = user.second_factor_at is not None if is_verified is None else is_verified
        place = {"agent": agent, "address": address, "domain": request.address.domain}
        row, secret = Session.objects.start(user, **place, family=family, is_verified=is_verified)
        log_sign_in(request, user, way)
    set_cookie(response, SESSION_COOKIE, secret, Session.LIFETIME)
    if (
        way in (Way.PASSWORD, Way.CODE, *WITH_SECOND_FACTOR[1:])
        and not user.is_new
        and not find_browser(request, user.id)
    ):
        email_new_browser(user, request, row)
    remember_browser(request, response, user)
    # Another person may have seen the CSRF token in a page before the sign-in.
    rotate_token(request)
    if family is None and response.headers.get("Location") == home_path():
        response.headers["Location"] = start_path(request.account, user)
    return response


def discard_messages(request: PageRequest) -> None:
    """Discard the messages of the caller, such as that the user is signed in, which is not true yet."""
    list(messages.get_messages(request))


def ask_second_factor(request: PageRequest, response: HttpResponse, user: User, way: Way) -> HttpResponse:
    """Store in the browser who has signed in with the first factor, and return a redirect to the page for the second one."""
    discard_messages(request)
    values = [request.account.id, user.id, proof_of_password(user), way, response.headers.get("Location", "/")]
    sealed = seal([*values, int(timezone.now().timestamp())], FIRST_FACTOR)
    asking = redirect("accounts-second-factor")
    asking.cookies = response.cookies
    set_cookie(asking, FIRST_FACTOR_COOKIE, sealed, FIRST_FACTOR_LIFETIME)
    return asking


def read_first_factor(request: PageRequest) -> tuple[User | None, str]:
    """Return the user who has signed in with the first factor in this browser, or None, and the page to show in the end.

    A change of the password ends the first step, and so does single sign-on that is enforced meanwhile.
    """
    try:
        sealed = request.COOKIES.get(FIRST_FACTOR_COOKIE, "")[:MAX_COOKIE_LENGTH]
        account_id, user_id, proof, way, target, at = unseal(sealed, FIRST_FACTOR)
    except (SealError, ValueError):
        # A former version of the code has sealed fewer values.
        return None, "/"
    is_old = timezone.now().timestamp() - at > FIRST_FACTOR_LIFETIME.total_seconds()
    if account_id != request.account.id or is_old:
        return None, "/"
    user = User.objects.filter(account_id=account_id, id=user_id, is_active=True).first()
    if user is None or not hmac.compare_digest(proof_of_password(user), proof):
        return None, "/"
    user.account = request.account
    return (None, "/") if user.must_use_sso and way != Way.SSO else (user, target)


def proof_of_password(user: User) -> str:
    return salted_hmac(FIRST_FACTOR, user.password).hexdigest()[:32]


class VisitorPage(Page):
    """A page for visitors. A user is redirected to the page `next`."""

    request: PageRequest

    def check_access(self) -> HttpResponse | None:
        if self.request.user is not None:
            return redirect(safe_path(self.request, self.request.GET.get("next")))
        return super().check_access()


class SignOut(Page):
    works_when_closed = works_without_second_factor = True

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

    works_when_closed = works_without_second_factor = True
    needs_site = False

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


class LoginForm(Form):
    login = forms.CharField(
        label=gettext_lazy("Login or e-mail"),
        max_length=255,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autofocus": True}),
    )


class SignInForm(LoginForm):
    password = CurrentPassword(label=gettext_lazy("Password"))
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
    """The page that asks for an e-mail address, and with `password` in the query for a password."""

    works_when_closed = True
    template_name = "accounts/sign_in/password.html"

    def get(self, request: PageRequest) -> HttpResponse:
        target = safe_path(request, request.GET.get("next"))
        if request.user is not None:
            return redirect(target)
        # `unsaved` means that a form was submitted after the session had ended (`core.pages.navigation.sign_in_path`).
        nothing_was_saved = "unsaved" in request.GET
        if "password" in request.GET:
            return self.render_form(SignInForm(request=request, target=target), nothing_was_saved=nothing_was_saved)
        form = CodeRequestForm(initial={"next": target})
        return self.render_form(form, SignInWithCode.template_name, nothing_was_saved=nothing_was_saved)

    def post(self, request: PageRequest) -> HttpResponse:
        form = SignInForm(request.POST, request=request)
        if not form.is_valid():
            return self.render_form(form)
        user, target = cast(User, form.user), safe_path(request, form.cleaned_data["next"])
        if is_common(form.cleaned_data["password"], user):
            text = _("Your password is widely known from breaches of other services, so others may guess it. {change}.")
            link = format_html('<a href="{}">{}</a>', reverse("accounts-security"), _("Choose another one"))
            messages.warning(request, format_html(text, change=link))
        return sign_in(request, redirect(target), user, way=Way.PASSWORD)


class CodeRequestForm(Form):
    email = EmailFormField()
    next = forms.CharField(required=False, max_length=2000, widget=forms.HiddenInput)
    email.widget.attrs["autofocus"] = True


class CodeForm(Form):
    code = Code()
    next = forms.CharField(required=False, max_length=2000, widget=forms.HiddenInput)
    code.widget.attrs["autofocus"] = True


class CodeRequestPage(Page):
    """The base of pages that ask for an e-mail address, and send a code to it."""

    request: PageRequest

    def code_path(self) -> str:
        """Return the path of the page for the code."""
        raise NotImplementedError

    def send_code(self, form: Form) -> HttpResponse | None:
        """Send a code to the e-mail address of a valid form, and return a redirect to the page for the code.

        Return None and add an error to the form after too many requests or e-mails.
        """
        request, email = self.request, form.cleaned_data["email"]
        account = request.account
        recipient = User.objects.find_for_code(request.site, email)
        try:
            if not throttling.count_code_request(request, email, recipient.user):
                form.add_error("email", _("This address has got too many e-mails. Try again in an hour."))
        except Throttled as refused:
            form.add_error(None, too_many_attempts(refused))
        if form.errors:
            log_refusal(request, Way.CODE, RefusalReason.TOO_MANY, user=recipient.user, name=email)
            return None
        # People do not see the field `homepage`, but bots fill it in.
        deliver = recipient.may_sign_in and not request.POST.get("homepage")

        def send() -> str:
            former = request.COOKIES.get(CODE_COOKIE, "")
            code, secret = SignInCode.objects.make(account, recipient.email, typed_email=email, replaces=former)
            mail.send(
                recipient.email,
                "accounts/mail/sign_in_code.txt",
                account_id=account.id,
                language=get_language(),
                sender=request.site.name,
                code=code,
                deliver=deliver,
            )
            return secret

        secret = in_transaction(send)
        if "again" in request.POST:
            text = _(
                "If you can sign in here with that address, another code is on its way. Only the newest one works."
            )
            messages.success(request, text)
        response = redirect(self.code_path())
        set_cookie(response, CODE_COOKIE, secret, SignInCode.LIFETIME)
        return response


class CodePage(Page):
    """The base of pages on which the code is entered."""

    request: PageRequest
    template_name = "accounts/sign_in/sign_in_code.html"
    # The address of the right code, or "" after a wrong one.
    used_email = ""

    @property
    def secret(self) -> str:
        return self.request.COOKIES.get(CODE_COOKIE, "")

    def retry_path(self) -> str:
        """Return the path of the page that sends another code."""
        raise NotImplementedError

    def target_path(self) -> str:
        """Return the path of the page after signing in, which may take a second step."""
        raise NotImplementedError

    def finish(self, response: HttpResponse, user: User) -> HttpResponse:
        """Act for the user, who is signed in. Return the response, which is the given redirect to the target or another one."""
        return response

    def get(self, request: PageRequest, **kwargs: object) -> HttpResponse:
        email = self.find_typed_email()
        if email is None:
            return self.redirect_to_retry()
        return self.show(CodeForm(initial={"next": safe_path(request, request.GET.get("next"))}), email)

    def find_typed_email(self) -> str | None:
        """Return the address that was typed to get the code, or None if the browser has no usable code."""
        codes = SignInCode.objects.usable(self.request.account.id, self.secret)
        return codes.values_list("typed_email", flat=True).first()

    def show(self, form: Form, email: str | None = None) -> HttpResponse:
        email = email or self.find_typed_email()
        return self.render_form(form, retry_path=self.retry_path(), email=email, max_emails=MAX_EMAILS_PER_ORIGIN)

    def post(self, request: PageRequest, **kwargs: object) -> HttpResponse:
        form, found = CodeForm(request.POST), list[User | None]()
        if not form.is_valid():
            return self.show(form)
        try:
            throttling.count_code(request)
            is_done = self.submit_form(form, lambda: found.append(self.use_code(form)))
        except Throttled as refused:
            log_refusal(request, Way.CODE, RefusalReason.TOO_MANY)
            form.add_error(None, too_many_attempts(refused))
            return self.show(form)
        except CodeExpired:
            log_refusal(request, Way.CODE, RefusalReason.EXPIRED_CODE)
            return self.redirect_to_retry()
        if not is_done:
            # The form has an error, because the e-mail looks like that of another user.
            return self.show(form)
        if (user := found[-1]) is None:
            return self.refuse(form)
        throttling.refund_code(request)
        response = sign_in(request, redirect(self.target_path()), user, way=Way.CODE)
        # Without a session, the user has another step to take.
        if SESSION_COOKIE in response.cookies:
            request.user, cookies = user, response.cookies
            response = self.finish(response, user)
            response.cookies.update(cookies)
        delete_cookie(response, CODE_COOKIE)
        return response

    def use_code(self, form: Form) -> User | None:
        """Return the user with the e-mail of the code, or None if the code is wrong or the e-mail may not sign in."""
        request, account = self.request, self.request.account
        self.used_email = email = SignInCode.objects.use(account.id, self.secret, form.cleaned_data["code"])
        return User.objects.find_or_join(request.site, email=email, name="", language=get_language()) if email else None

    def refuse(self, form: Form) -> HttpResponse:
        """Return the page after a wrong code. After the last attempt, redirect to the page that sends another code."""
        reason = RefusalReason.NOT_ADMITTED if self.used_email else RefusalReason.WRONG_CODE
        log_refusal(self.request, Way.CODE, reason, name=self.used_email)
        email = self.find_typed_email()
        if email is None:
            return self.redirect_to_retry()
        form.add_error("code", _("Is not the code from the newest e-mail"))
        return self.show(form, email)

    def redirect_to_retry(self) -> HttpResponse:
        messages.error(self.request, _("This code no longer works. We can send you another one."))
        return redirect(self.retry_path())


class SignInWithCode(CodeRequestPage, VisitorPage):
    """The page that sends a code to sign in with. After signing in, the user returns to the page `next`."""

    works_when_closed = True
    template_name = "accounts/sign_in/sign_in.html"

    def get(self, request: PageRequest) -> HttpResponse:
        return self.render_form(CodeRequestForm(initial={"next": safe_path(request, request.GET.get("next"))}))

    def post(self, request: PageRequest) -> HttpResponse:
        self.form = CodeRequestForm(request.POST)
        response = self.send_code(self.form) if self.form.is_valid() else None
        return response or self.render_form(self.form)

    def code_path(self) -> str:
        target = safe_path(self.request, self.form.cleaned_data["next"])
        return reverse("accounts-sign-in-code-enter", query={"next": target})


class EnterCode(CodePage, VisitorPage):
    """The page for the code. The right code signs the user in."""

    works_when_closed = True

    def retry_path(self) -> str:
        target = safe_path(self.request, self.request.POST.get("next") or self.request.GET.get("next"))
        return reverse("accounts-sign-in-code", query={"next": target})

    def target_path(self) -> str:
        return safe_path(self.request, self.request.POST.get("next"))

    def finish(self, response: HttpResponse, user: User) -> HttpResponse:
        messages.success(self.request, _("You are signed in."))
        return response
