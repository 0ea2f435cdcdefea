"""Signing in with the provider of the account, and the settings page of the provider."""

import hmac
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from accounts.confirmation.pages import ConfirmedPage
from accounts.hosts.domains import count_domain_check
from accounts.hosts.requests import PageRequest, UserRequest
from accounts.layout.forms import Form
from accounts.layout.settings import SettingsPage
from accounts.oidc.client import ProviderError, begin, discover, finish
from accounts.oidc.models import OIDCProvider, SignInRefused, clean_group_roles
from accounts.sessions.cookies import SSO_COOKIE, delete_cookie, set_cookie
from accounts.sessions.throttling import RefusalReason, Way, log_refusal
from accounts.sign_in.pages.sign_in import sign_in
from accounts.users.models import User
from core.db.transactions import in_transaction
from core.errors import FieldErrors
from core.http.throttling import count_from_address
from core.pages.base import Page, redirect, redirect_to_url, safe_path
from core.sealing import SealError, seal, unseal

SEAL_PURPOSE = "single sign-on"
# The time in which the person has to sign in at the provider.
LIFETIME = timedelta(minutes=15)
MAX_COOKIE_LENGTH = 4000


def find_provider(request: PageRequest) -> OIDCProvider:
    """Return the provider, at the account's own host, which the provider knows. Raise Http404."""
    if request.address.host != request.account.prefix:
        raise Http404
    provider = OIDCProvider.objects.filter(account_id=request.account.id).first()
    if provider is None:
        raise Http404
    provider.account = request.account
    return provider


def redirect_uri(request: PageRequest) -> str:
    return request.address.url + reverse("accounts-oidc-callback")


class StartSSO(Page):
    """Lead the browser to the provider. A draft is only tested: with `?test`, by an owner."""

    request: PageRequest

    def get(self, request: PageRequest) -> HttpResponse:
        provider = find_provider(request)
        is_test = "test" in request.GET
        is_owner = request.user is not None and request.user.is_owner
        if not is_owner if is_test else provider.state == OIDCProvider.State.DRAFT:
            raise Http404
        count_from_address(request, "single-sign-on")
        try:
            url, kept = begin(provider, redirect_uri(request))
        except (ProviderError, FieldErrors) as error:
            messages.error(request, _("The sign-in service does not answer: %(error)s") % {"error": error})
            return redirect("accounts-oidc" if is_test else "accounts-sign-in")
        values = {**kept, "next": safe_path(request, request.GET.get("next")), "test": is_test}
        response = redirect_to_url(url)
        sealed = seal([request.account.id, int(timezone.now().timestamp()), values], SEAL_PURPOSE)
        set_cookie(response, SSO_COOKIE, sealed, LIFETIME)
        return response


class FinishSSO(Page):
    """The page to which the provider sends the browser back."""

    request: PageRequest

    def get(self, request: PageRequest) -> HttpResponse:
        provider, kept = find_provider(request), self.read_cookie()
        if kept is None or not hmac.compare_digest(request.GET.get("state", "").encode(), kept["state"].encode()):
            return self.refuse(_("The sign-in took too long, or began in another browser. Try again."))
        is_named = bool(provider.metadata.get("authorization_response_iss_parameter_supported"))
        if request.GET.get("iss", "" if is_named else provider.issuer) != provider.issuer:
            return self.refuse(_("The answer is from another sign-in service."))
        if "code" not in request.GET:
            return self.refuse(
                _("The sign-in service refused: %(error)s") % {"error": request.GET.get("error", "")[:100]}
            )
        try:
            claims = finish(provider, request.GET["code"][:4000], kept, redirect_uri(request))
        except (ProviderError, FieldErrors) as error:
            return self.refuse(str(error), is_test=bool(kept["test"]))
        return self.end_test(provider, claims) if kept["test"] else self.sign_in(provider, claims, str(kept["next"]))

    def read_cookie(self) -> dict[str, Any] | None:
        sealed = self.request.COOKIES.get(SSO_COOKIE, "")
        try:
            account_id, at, kept = unseal(sealed[:MAX_COOKIE_LENGTH], SEAL_PURPOSE)
        except SealError:
            return None
        is_fresh = timezone.now().timestamp() - at < LIFETIME.total_seconds()
        return dict(kept) if account_id == self.request.account.id and is_fresh else None

    def refuse(self, message: str, *, is_test: bool = False) -> HttpResponse:
        log_refusal(self.request, Way.SSO, RefusalReason.INVALID_TOKEN)
        messages.error(self.request, message)
        response = redirect("accounts-oidc" if is_test else "accounts-sign-in")
        delete_cookie(response, SSO_COOKIE)
        return response

    def end_test(self, provider: OIDCProvider, claims: dict[str, Any]) -> HttpResponse:
        """Store what the provider says about the owner who tests it, and sign nobody in."""
        if self.request.user is None or not self.request.user.is_owner:
            return self.refuse(_("Sign in as an owner to test the provider."))
        shown = {name: claims[name] for name in sorted(claims) if name not in ("nonce", "at_hash")}
        OIDCProvider.objects.filter(pk=provider.pk).update(tested_at=timezone.now(), tested_claims=shown)
        messages.success(self.request, _("The provider works. Look at what it says about you."))
        response = redirect("accounts-oidc")
        delete_cookie(response, SSO_COOKIE)
        return response

    def sign_in(self, provider: OIDCProvider, claims: dict[str, Any], target: str) -> HttpResponse:
        found: list[User] = []
        try:
            in_transaction(lambda: found.append(provider.find_user(claims, language=get_language())))
        except (SignInRefused, FieldErrors) as refused:
            return self.refuse(str(refused))
        response = sign_in(
            self.request, redirect(target), found[-1], way=Way.SSO, is_verified=provider.trusts_factors or None
        )
        delete_cookie(response, SSO_COOKIE)
        return response


class ProviderForm(Form):
    issuer = forms.URLField(
        label=gettext_lazy("Issuer"),
        max_length=500,
        assume_scheme="https",
        help_text=gettext_lazy(
            "The address of the provider, such as https://login.example.com or https://accounts.google.com."
        ),
    )
    client_identifier = forms.CharField(label=gettext_lazy("Client id"), max_length=500)
    secret = forms.CharField(
        label=gettext_lazy("Client secret"),
        max_length=500,
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("It is stored encrypted and not shown again. Leave it empty to keep the present one."),
    )
    groups_claim = forms.CharField(label=gettext_lazy("Claim with the groups"), max_length=255, initial="groups")
    group_roles = forms.CharField(
        label=gettext_lazy("Roles by group"),
        max_length=10_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text=gettext_lazy(
            "One group in each line with admin, agent or member, such as: forum-team = agent. Each sign-in applies them. Owners keep their role."
        ),
    )
    default_role = forms.ChoiceField(
        label=gettext_lazy("Role without such a group"),
        choices=[("member", gettext_lazy("Member")), ("agent", gettext_lazy("Agent"))],
    )
    trusts_factors = forms.BooleanField(
        label=gettext_lazy("The provider asks for a second factor itself"),
        required=False,
        help_text=gettext_lazy("Then we do not ask for another one."),
    )

    def __init__(self, data: QueryDict | None = None, *, provider: OIDCProvider) -> None:
        names = ("issuer", "client_identifier", "groups_claim", "default_role", "trusts_factors")
        lines = "\n".join(f"{group} = {role}" for group, role in provider.group_roles.items())
        super().__init__(data, initial={**{name: getattr(provider, name) for name in names}, "group_roles": lines})


class DomainForm(Form):
    id_format = "domain-%s"
    domain = forms.CharField(label=gettext_lazy("Domain of e-mails"), max_length=255)


class StateForm(Form):
    id_format = "state-%s"
    state = forms.ChoiceField(label=gettext_lazy("State"), choices=OIDCProvider.State.choices, widget=forms.RadioSelect)


class OIDCPage(SettingsPage, ConfirmedPage):
    template_name = "accounts/oidc/oidc.html"
    access = "admin"
    part = "oidc"
    actions = {"save": "save", "domain": "add_domain", "state": "change_state", "remove": "remove"}

    def allows(self, user: Any) -> bool:
        return self.request.user.is_owner

    def find(self) -> OIDCProvider:
        account = self.request.account
        provider = OIDCProvider.objects.filter(account_id=account.id).first() or OIDCProvider(account_id=account.id)
        provider.account = account
        return provider

    def get(self, request: UserRequest) -> HttpResponse:
        return self.show(self.find())

    def show(self, provider: OIDCProvider, **forms_shown: Form) -> HttpResponse:
        shown: dict[str, Any] = {
            "form": ProviderForm(provider=provider),
            "domain_form": DomainForm(),
            "state_form": StateForm(initial={"state": provider.state}),
            **forms_shown,
        }
        claims = provider.tested_claims
        return self.render(
            provider=provider,
            callback=request_url(self.request),
            claims=claims.items() if claims else (),
            role=User.Role(provider.role_of(claims)).label if claims else "",
            **shown,
        )

    def save(self, request: UserRequest) -> HttpResponse:
        provider, form = self.find(), ProviderForm(request.POST, provider=self.find())

        def act() -> None:
            values = dict(form.cleaned_data)
            values["group_roles"] = clean_group_roles(values["group_roles"])
            provider.write(**values)

        if not form.is_valid() or not self.submit_form(form, act):
            return self.show(provider, form=form)
        try:
            discover(provider, is_fresh=True)
        except (ProviderError, FieldErrors) as error:
            form.add_error("issuer", _("Saved, but the provider does not answer: %(error)s") % {"error": error})
            return self.show(provider, form=form)
        messages.success(request, _("Saved. Now test it."))
        return redirect("accounts-oidc")

    def add_domain(self, request: UserRequest) -> HttpResponse:
        provider, form = self.find(), DomainForm(request.POST)
        if not form.is_valid() or provider._state.adding:
            return self.show(provider, domain_form=form)
        count_domain_check(request)
        try:
            provider.prove_domain(form.cleaned_data["domain"])
        except FieldErrors as caught:
            self.add_errors(form, caught)
            return self.show(provider, domain_form=form)
        messages.success(request, _("The domain is proven."))
        return redirect("accounts-oidc")

    def change_state(self, request: UserRequest) -> HttpResponse:
        provider, form = self.find(), StateForm(request.POST)
        if not form.is_valid() or provider._state.adding:
            return self.show(provider, state_form=form)
        if not self.submit_form(form, lambda: provider.change_state(form.cleaned_data["state"], by=request.user)):
            return self.show(provider, state_form=form)
        messages.success(request, _("Saved."))
        return redirect("accounts-oidc")

    def remove(self, request: UserRequest) -> HttpResponse:
        provider = self.find()
        if not provider._state.adding:
            self.perform(provider.remove, success_message=_("Single sign-on is removed."))
        return redirect("accounts-oidc")


def request_url(request: UserRequest) -> str:
    """Return the address of the callback at the account's own host, for the settings of the provider."""
    return request.address.own_url + reverse("accounts-oidc-callback")
