"""The base class of the settings pages, and the page of the account."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Account
from accounts.pages.forms import Form, language_choices, time_zone_choices
from core.api.fields import CURRENCIES
from core.api.paging import Page as ListPage
from core.error_responses import error_response
from core.errors import FieldErrors
from core.pages.base import Page, redirect
from core.requests import UserRequest


class SettingsPage(Page):
    """A page of the settings. Its forms post to the page itself, and the field `do` names the action."""

    request: UserRequest
    access = "admin"
    # The name of the page's entry in the menu of the settings.
    part = ""
    # The method for each value of `do`. The first is the default.
    actions: dict[str, str] = {}

    def post(self, request: UserRequest, **kwargs: Any) -> HttpResponse:
        action = self.actions.get(request.POST.get("do") or next(iter(self.actions), ""))
        if action is None:
            return error_response(request, 400)
        return getattr(self, action)(request, **kwargs)

    def render(self, template: str | None = None, *, http_status: int = 200, **context: Any) -> HttpResponse:
        return super().render(template, http_status=http_status, part=self.part, **context)

    def read_page(self, **overrides: int) -> ListPage:
        """Return the requested page of a list. `overrides` replace parameters of the query."""
        try:
            return ListPage.read({**self.request.GET.dict(), **overrides})
        except FieldErrors:
            raise Http404 from None


def parse_id(value: str | None) -> int | None:
    """Return the id in a form value, or None if the value is not an id."""
    return int(value) if value and value.isascii() and value.isdigit() and len(value) <= 18 else None


class AccountForm(Form):
    name = forms.CharField(label=gettext_lazy("Name"), max_length=255)
    time_zone = forms.ChoiceField(
        label=gettext_lazy("Time zone"),
        help_text=gettext_lazy(
            "Times are shown in it, here and to programs. Everyone can choose another one in their profile."
        ),
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language"),
        choices=language_choices,
        help_text=gettext_lazy("For e-mails, and for visitors whose browser asks for a language we don't have."),
    )
    currency = forms.CharField(
        label=gettext_lazy("Currency"),
        max_length=3,
        help_text=gettext_lazy("For new deals: the three letters of ISO 4217, such as EUR, PLN or USD."),
    )
    currency.widget.attrs.update({"autocapitalize": "characters", "spellcheck": "false", "class": "short"})

    def __init__(self, *args: Any, account: Account, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = list(time_zone_choices())
        # Keep a time zone that was set by other means and is not among the choices.
        if account.time_zone not in dict(choices):
            choices.insert(0, (account.time_zone, account.time_zone))
        self.set_choices("time_zone", choices)
        if currency := self.data.get("currency"):
            self.replace_data("currency", currency.strip().upper())
        self.account = account

    def clean_currency(self) -> str:
        currency = self.cleaned_data["currency"]
        # Keep a current currency that has been removed from the list.
        if currency not in CURRENCIES and currency != self.account.currency:
            raise forms.ValidationError(_("This is not a code of ISO 4217, such as EUR"))
        return currency


class AccountPage(SettingsPage):
    """The first page of the settings: the account itself."""

    template_name = "accounts/account.html"
    part = "account"
    actions = {"save": "save"}

    def check_access(self) -> HttpResponse | None:
        user = self.request.user
        if user is not None and user.is_team and not user.is_admin and self.request.method in ("GET", "HEAD"):
            # The only settings page for agents.
            return redirect("accounts-tokens")
        return super().check_access()

    def show(self, form: Form) -> HttpResponse:
        return self.render_form(form, address=f"{self.request.account.prefix}.{settings.BASE_DOMAIN}")

    def get(self, request: UserRequest) -> HttpResponse:
        account = request.account
        values = {name: getattr(account, name) for name in AccountForm.base_fields}
        return self.show(AccountForm(initial=values, account=account))

    def save(self, request: UserRequest) -> HttpResponse:
        account = request.account
        form = AccountForm(request.POST, account=account)
        if not form.is_valid() or not self.submit_form(form, lambda: account.change(**form.cleaned_data)):
            return self.show(form)
        messages.success(request, _("The account is saved."))
        return redirect("accounts-account")
