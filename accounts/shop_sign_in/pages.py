"""The address to which a shop sends its customers with a token, and the settings page of its keys."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from accounts.confirmation.pages import ConfirmedPage
from accounts.hosts.names import public_url
from accounts.hosts.requests import PageRequest, UserRequest
from accounts.layout.forms import Form
from accounts.layout.settings import SettingsPage
from accounts.sessions.throttling import RefusalReason, Way, log_refusal
from accounts.shop_sign_in.examples import EXAMPLES
from accounts.shop_sign_in.models import ShopSignIn, TokenRefused
from accounts.sign_in.pages.sign_in import sign_in
from accounts.users.models import User
from core.db.transactions import in_transaction
from core.errors import FieldErrors
from core.http.throttling import count_from_address
from core.pages.base import Page, redirect, safe_path

# The names of the parameters, ours first, and then those of Canny and Nolt, so that a shop changes only its address and its secret.
TOKENS, TARGETS = ("jwt", "ssoToken"), ("return_to", "redirect", "returnUrl")


class SignInFromShop(Page):
    """Sign in the customer whom the shop has named in a signed token, and redirect to a page of this forum."""

    request: PageRequest

    def get(self, request: PageRequest) -> HttpResponse:
        target = safe_path(request, next((request.GET[name] for name in TARGETS if name in request.GET), None))
        if request.user is not None and request.user.is_team:
            # A link must not sign a user of the team out.
            return redirect(target)
        count_from_address(request, "shop-sign-in")
        token = next((request.GET[name] for name in TOKENS if name in request.GET), "")
        keys = ShopSignIn.get_or_new(request.account)
        found: list[User] = []
        try:
            in_transaction(lambda: found.append(keys.sign_in(request.site, token, language=get_language())))
        except (TokenRefused, FieldErrors) as refused:
            log_refusal(request, Way.SHOP, RefusalReason.INVALID_TOKEN)
            keys.note_refusal(str(refused))
            messages.error(request, _("Your shop could not sign you in. Sign in here instead."))
            return redirect(reverse("accounts-sign-in", query={"next": target}))
        return sign_in(request, redirect(target), found[-1], way=Way.SHOP)


class ShopKeysForm(Form):
    public_key = forms.CharField(
        label=gettext_lazy("Public key"),
        max_length=2000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text=gettext_lazy(
            "A key of Ed25519 in the PEM format, in place of a secret. The private key stays in the shop."
        ),
    )
    trusts_emails = forms.BooleanField(
        label=gettext_lazy("My shop verifies the e-mails of its customers"),
        required=False,
        help_text=gettext_lazy(
            "Otherwise nobody comes in with a first token: somebody could use the e-mail of another member."
        ),
    )


class ShopSignInPage(SettingsPage, ConfirmedPage):
    template_name = "accounts/shop_sign_in/shop_sign_in.html"
    access = "admin"
    part = "shop-sign-in"
    actions = {"rotate": "rotate", "key": "save_key", "disable": "disable"}

    def allows(self, user: Any) -> bool:
        return self.request.user.is_owner

    def get(self, request: UserRequest) -> HttpResponse:
        return self.show()

    def show(self, form: Form | None = None, *, secret: str = "") -> HttpResponse:
        keys = ShopSignIn.get_or_new(self.request.account)
        return self.render(
            keys=keys,
            form=form or ShopKeysForm(initial={"public_key": keys.public_key, "trusts_emails": keys.trusts_emails}),
            secret=secret,
            address=public_url(self.request.account.prefix) + reverse("accounts-shop-token"),
            examples=EXAMPLES,
        )

    def rotate(self, request: UserRequest) -> HttpResponse:
        """Show the new secret on this page, because it is shown only once."""
        keys = ShopSignIn.get_or_new(request.account)
        return self.show(secret=in_transaction(keys.rotate))

    def save_key(self, request: UserRequest) -> HttpResponse:
        form = ShopKeysForm(request.POST)
        keys = ShopSignIn.get_or_new(request.account)
        if not form.is_valid() or not self.submit_form(form, lambda: keys.write(**form.cleaned_data)):
            return self.show(form)
        messages.success(request, _("Saved."))
        return redirect("accounts-shop-sign-in")

    def disable(self, request: UserRequest) -> HttpResponse:
        keys = ShopSignIn.get_or_new(request.account)
        self.perform(keys.disable, success_message=_("Tokens of the shop no longer sign anybody in."))
        return redirect("accounts-shop-sign-in")
