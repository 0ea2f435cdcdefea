"""The second step of signing in, signing in with a passkey, and the page on which users set up their second factors."""

from typing import Any

import pyotp
import segno
from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.confirmation.pages import ConfirmedPage
from accounts.factors.models import MAX_CODE_LENGTH, SecondFactor
from accounts.hosts.requests import PageRequest, UserRequest
from accounts.layout.forms import Form
from accounts.layout.settings import SettingsPage, parse_id
from accounts.second_factor import passkeys
from accounts.second_factor.emails import email_factor_changed
from accounts.sessions import throttling
from accounts.sessions.cookies import FIRST_FACTOR_COOKIE, PASSKEY_COOKIE, delete_cookie
from accounts.sessions.models import Session
from accounts.sessions.throttling import RefusalReason, Way, log_refusal
from accounts.sign_in.forms import too_many_attempts
from accounts.sign_in.pages.sign_in import VisitorPage, read_first_factor, sign_in
from accounts.users.models import User
from core.db.transactions import in_transaction
from core.errors import Throttled
from core.pages.base import Page, redirect, safe_path
from core.sealing import SealError, seal, unseal

SEAL_PURPOSE = "new authenticator app"


class FactorCode(forms.CharField):
    """The code of the app, or a recovery code."""

    def __init__(self, **kwargs: Any) -> None:
        attributes = {
            "autocomplete": "one-time-code",
            "autocapitalize": "none",
            "spellcheck": "false",
            "class": "short",
        }
        super().__init__(max_length=MAX_CODE_LENGTH, widget=forms.TextInput(attrs=attributes), **kwargs)


class SecondFactorForm(Form):
    code = FactorCode(
        label=gettext_lazy("Code of your app"),
        help_text=gettext_lazy("The six digits that your authenticator app shows now, or one of your recovery codes."),
    )
    code.widget.attrs["autofocus"] = True

    def __init__(self, data: QueryDict | None = None, *, request: PageRequest, user: User) -> None:
        super().__init__(data)
        self.request, self.user = request, user

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        request, user = self.request, self.user
        try:
            throttling.count_second_factor(request, user)
            factor = in_transaction(lambda: SecondFactor.objects.use_code(user, code))
        except Throttled as refused:
            log_refusal(request, Way.SECOND_FACTOR, RefusalReason.TOO_MANY, user=user)
            raise forms.ValidationError(too_many_attempts(refused)) from None
        if factor is None:
            log_refusal(request, Way.SECOND_FACTOR, RefusalReason.WRONG_CODE, user=user)
            raise forms.ValidationError(_("Is wrong, or was used already"))
        throttling.refund_second_factor(request, user)
        if factor.kind == SecondFactor.Kind.RECOVERY:
            email_factor_changed(user, request, "recovery_code_used")
        return code


class EnterSecondFactor(VisitorPage):
    """The second step of signing in, after a password or a code by e-mail."""

    works_when_closed = True
    template_name = "accounts/second_factor/enter.html"

    def check_access(self) -> HttpResponse | None:
        response = super().check_access()
        if response is None:
            self.user, self.target = read_first_factor(self.request)
            if self.user is None:
                messages.error(self.request, _("Sign in again: the first step was too long ago."))
                return redirect("accounts-sign-in")
        return response

    def get(self, request: PageRequest) -> HttpResponse:
        return self.show(SecondFactorForm(request=request, user=self.known_user))

    def show(self, form: Form) -> HttpResponse:
        has_passkey = passkeys.serves_passkeys(self.request) and self.known_user.second_factors.passkeys().exists()
        return self.render_form(form, has_passkey=has_passkey, next=self.target)

    @property
    def known_user(self) -> User:
        if self.user is None:
            raise Http404
        return self.user

    def post(self, request: PageRequest) -> HttpResponse:
        user = self.known_user
        if passkey := request.POST.get("passkey"):
            if passkeys.authenticate(request, passkey, user) is None:
                log_refusal(request, Way.PASSKEY, RefusalReason.INVALID_PASSKEY, user=user)
                messages.error(request, _("This passkey does not fit. Try again, or enter a code."))
                return redirect(request.path)
        else:
            form = SecondFactorForm(request.POST, request=request, user=user)
            if not form.is_valid():
                return self.show(form)
        response = sign_in(request, redirect(self.target), user, way=Way.SECOND_FACTOR)
        delete_cookie(response, FIRST_FACTOR_COOKIE)
        delete_cookie(response, PASSKEY_COOKIE)
        return response


class PasskeyOptions(Page):
    """The options with which the browser asks for a passkey, to sign in or to add one (`?add`)."""

    request: PageRequest
    works_when_closed = works_without_second_factor = True

    def post(self, request: PageRequest) -> HttpResponse:
        if not passkeys.serves_passkeys(request):
            raise Http404
        if "add" in request.GET:
            if request.user is None:
                raise Http404
            options, state = passkeys.begin_registration(request, request.user)
        else:
            options, state = passkeys.begin_authentication(request)
        response = JsonResponse(options)
        passkeys.set_state(request, response, state)
        return response


class SignInWithPasskey(VisitorPage):
    """The action that signs in with a passkey alone."""

    works_when_closed = True

    def post(self, request: PageRequest) -> HttpResponse:
        target = safe_path(request, request.POST.get("next"))
        try:
            throttling.count_code(request)
        except Throttled as refused:
            messages.error(request, too_many_attempts(refused))
            return redirect("accounts-sign-in")
        user = passkeys.authenticate(request, request.POST.get("passkey", ""))
        if user is None or not request.site.may_be_read_by(user):
            log_refusal(request, Way.PASSKEY, RefusalReason.INVALID_PASSKEY)
            messages.error(request, _("No user has this passkey. Sign in in another way."))
            return redirect(reverse("accounts-sign-in", query={"next": target}))
        throttling.refund_code(request)
        response = sign_in(request, redirect(target), user, way=Way.PASSKEY)
        delete_cookie(response, PASSKEY_COOKIE)
        return response


def qr_code(secret: str, user: User) -> SafeString:
    """Return the picture, as SVG, with which an app reads a secret."""
    issuer = user.account.name or user.account.prefix
    uri = pyotp.TOTP(secret).provisioning_uri(name=user.login, issuer_name=issuer)
    svg = segno.make(uri, error="m").svg_inline(scale=4, border=2, light="#fff", svgclass=None, lineclass=None)
    return mark_safe(svg)  # noqa: S308  # the library has made it


class AppForm(Form):
    id_format = "app-%s"
    secret = forms.CharField(max_length=500, widget=forms.HiddenInput)
    code = FactorCode(label=gettext_lazy("Code that the app shows"))


class PasskeyForm(Form):
    id_format = "passkey-%s"
    name = forms.CharField(
        label=gettext_lazy("Name of the new passkey"),
        max_length=255,
        help_text=gettext_lazy("So that you recognise it, for example the name of this device."),
    )
    passkey = forms.CharField(max_length=passkeys.MAX_RESPONSE_LENGTH, widget=forms.HiddenInput, required=False)


class SecondFactorsPage(SettingsPage, ConfirmedPage):
    """The factors of the user: an authenticator app, passkeys and recovery codes."""

    template_name = "accounts/second_factor/factors.html"
    access = "user"
    part = "factors"
    actions = {"app": "add_app", "passkey": "add_passkey", "remove": "remove", "codes": "make_codes"}
    works_without_second_factor = True

    def allows(self, user: Any) -> bool:
        return True

    def get(self, request: UserRequest) -> HttpResponse:
        return self.show()

    def show(
        self, app_form: Form | None = None, passkey_form: Form | None = None, codes: list[str] | None = None
    ) -> HttpResponse:
        request, user = self.request, self.request.user
        factors = list(user.second_factors.order_by("created_at", "id"))
        kinds = SecondFactor.Kind
        app = next((row for row in factors if row.kind == kinds.APP), None)
        secret = self.new_secret(app_form) if app is None else ""
        return self.render(
            app=app,
            app_form=app_form or AppForm(initial={"secret": seal([user.id, secret], SEAL_PURPOSE)}),
            secret=" ".join(secret[start : start + 4] for start in range(0, len(secret), 4)),
            qr_code=qr_code(secret, user) if secret else "",
            passkeys=[row for row in factors if row.kind == kinds.PASSKEY],
            passkey_form=passkey_form or PasskeyForm(),
            serves_passkeys=passkeys.serves_passkeys(request),
            codes_left=sum(row.kind == kinds.RECOVERY for row in factors),
            codes=codes,
            is_required=request.session.lacks_second_factor,
        )

    def new_secret(self, form: Form | None) -> str:
        """Return a new secret, or that of the submitted form, whose code was wrong."""
        if form is not None and (secret := self.read_secret(form.data.get("secret", ""))):
            return secret
        return pyotp.random_base32()

    def read_secret(self, sealed: str) -> str:
        """Return the secret that the page has shown to the user, or ""."""
        try:
            user_id, secret = unseal(sealed[:500], SEAL_PURPOSE)
        except SealError:
            return ""
        return str(secret) if user_id == self.request.user.id else ""

    def add_app(self, request: UserRequest) -> HttpResponse:
        form = AppForm(request.POST)
        secret = self.read_secret(request.POST.get("secret", ""))
        code = request.POST.get("code", "").replace(" ", "")
        if not form.is_valid() or not secret:
            return self.show(form)
        if not self.submit_form(form, lambda: SecondFactor.objects.add_app(request.user, secret, code)):
            return self.show(form)
        return self.finish("app_added")

    def add_passkey(self, request: UserRequest) -> HttpResponse:
        form = PasskeyForm(request.POST)

        def act() -> None:
            data = passkeys.finish_registration(request, form.cleaned_data["passkey"])
            if data.credential_data is not None:
                name = form.cleaned_data["name"]
                SecondFactor.objects.add_passkey(request.user, data.credential_data, name=name, counter=data.counter)

        if not form.is_valid() or not self.submit_form(form, act):
            return self.show(passkey_form=form)
        return self.finish("passkey_added")

    def finish(self, act: str) -> HttpResponse:
        """Tell the user of the new factor. With the first one, show recovery codes."""
        request, user = self.request, self.request.user
        email_factor_changed(user, request, act)
        Session.objects.filter(account_id=user.account_id, user_id=user.id, family=request.session.family).update(
            is_verified=True
        )
        request.session.is_verified = True
        messages.success(request, _("From now on, signing in asks for your second factor."))
        if user.second_factors.recovery_codes().exists():
            return redirect("accounts-second-factors")
        return self.make_codes(request)

    def make_codes(self, request: UserRequest) -> HttpResponse:
        if request.user.second_factor_at is None:
            return redirect("accounts-second-factors")
        codes = in_transaction(lambda: SecondFactor.objects.make_recovery_codes(request.user))
        return self.show(codes=codes)

    def remove(self, request: UserRequest) -> HttpResponse:
        id = parse_id(request.POST.get("id"))
        if id and self.perform(
            lambda: SecondFactor.objects.remove(request.user, id), success_message=_("The second factor is removed.")
        ):
            email_factor_changed(request.user, request, "factor_removed")
        return redirect("accounts-second-factors")


class ResetSecondFactor(SettingsPage, ConfirmedPage):
    """The page on which an owner or an admin removes the factors of a user who has lost them."""

    template_name = "accounts/second_factor/reset.html"
    part = "users"
    actions = {"reset": "reset"}

    def get(self, request: UserRequest, id: int) -> HttpResponse:
        user = self.find(id)
        return self.render(user=user, is_allowed=user.id != request.user.id and request.user.may_manage(user))

    def find(self, id: int) -> User:
        user: User = get_object_or_404(self.request.account.users.filter(erased_at=None), id=id)
        user.account = self.request.account
        return user

    def reset(self, request: UserRequest, id: int) -> HttpResponse:
        user = self.find(id)
        message = _("The second factor of %(login)s is removed.") % {"login": user.login}
        if self.perform(lambda: SecondFactor.objects.reset(user, by=request.user), success_message=message):
            email_factor_changed(user, request, "factors_reset")
        return redirect("accounts-user", id)


class SignInRulesForm(Form):
    roles = forms.ChoiceField(
        label=gettext_lazy("Who needs a second factor"),
        widget=forms.RadioSelect,
        choices=[
            ("", gettext_lazy("Nobody: everyone decides for themselves")),
            ("owner", gettext_lazy("Owners")),
            ("owner,admin", gettext_lazy("Owners and admins")),
            ("owner,admin,agent", gettext_lazy("The whole team")),
        ],
        required=False,
        help_text=gettext_lazy(
            "An authenticator app or a passkey. Who has none sets it up after signing in. Programs go on with their tokens, but no longer "
            "with the passwords of these users."
        ),
    )


class SignInRulesPage(SettingsPage, ConfirmedPage):
    """How users of the account have to sign in."""

    template_name = "accounts/second_factor/rules.html"
    part = "sign-in-rules"
    actions = {"save": "save"}

    def allows(self, user: Any) -> bool:
        return self.request.user.is_owner

    def get(self, request: UserRequest) -> HttpResponse:
        return self.show(SignInRulesForm(initial={"roles": ",".join(request.account.second_factor_roles)}))

    def show(self, form: Form) -> HttpResponse:
        team = self.request.account.users.team()
        return self.render(form=form, without=list(team.filter(second_factor_at=None).order_by("name", "id")[:100]))

    def save(self, request: UserRequest) -> HttpResponse:
        form = SignInRulesForm(request.POST)
        if not form.is_valid():
            return self.show(form)
        roles = [role for role in form.cleaned_data["roles"].split(",") if role]
        self.perform(lambda: request.account.change(second_factor_roles=roles), success_message=_("Saved."))
        return redirect("accounts-sign-in-rules")
