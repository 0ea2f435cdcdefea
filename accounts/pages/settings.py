"""The account settings: what their pages share, and the first of them."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.pages.forms import Form, languages, zones
from core.api.fields import CURRENCIES
from core.api.paging import Page as PageOfList
from core.error_responses import error_response
from core.errors import FieldErrors
from core.pages.base import Page, redirect


class SettingsPage(Page):
    """A page of the settings. What is done on it is sent to itself, with `do` saying which of its acts is meant."""

    access = "admin"
    # The section that is open.
    part = ""
    # What may be done: the value of `do`, and the method. The first is meant where nothing is said.
    acts: dict[str, str] = {}

    def post(self, request, **kwargs) -> HttpResponse:
        act = self.acts.get(request.POST.get("do") or next(iter(self.acts), ""))
        if act is None:
            return error_response(request, 400)
        return getattr(self, act)(request, **kwargs)

    def render(self, template: str | None = None, *, http_status: int = 200, **context: Any) -> HttpResponse:
        return super().render(template, http_status=http_status, part=self.part, **context)

    def read_page(self, **given: int) -> PageOfList:
        """The page of a list that is asked for; what is `given` is not asked."""
        try:
            return PageOfList.read(self.request.GET.dict() | given)
        except FieldErrors:
            raise Http404 from None


def to_id(value: str | None) -> int | None:
    """An id that a form sent; None if it is none."""
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
        choices=languages,
        help_text=gettext_lazy("For e-mails, and for visitors whose browser asks for a language we don't have."),
    )
    currency = forms.CharField(
        label=gettext_lazy("Currency"),
        max_length=3,
        help_text=gettext_lazy("For new deals: the three letters of ISO 4217, such as EUR, PLN or USD."),
    )
    currency.widget.attrs.update({"autocapitalize": "characters", "spellcheck": "false", "class": "short"})

    def __init__(self, *args, account, **kwargs):
        super().__init__(*args, **kwargs)
        known = list(zones())
        # One that was given by other means stays as long as nobody chooses another.
        if account.time_zone not in dict(known):
            known.insert(0, (account.time_zone, account.time_zone))
        self.fields["time_zone"].choices = known
        self.data = self.data.copy()
        if currency := self.data.get("currency"):
            self.data["currency"] = currency.strip().upper()
        self.account = account

    def clean_currency(self) -> str:
        currency = self.cleaned_data["currency"]
        # One that is a currency no more stays as long as nobody chooses another.
        if currency not in CURRENCIES and currency != self.account.currency:
            raise forms.ValidationError(_("This is not a code of ISO 4217, such as EUR"))
        return currency


class AccountPage(SettingsPage):
    template_name = "accounts/account.html"
    part = "account"
    acts = {"save": "save"}

    def check_access(self) -> HttpResponse | None:
        user = self.request.user
        if user is not None and user.is_team and not user.is_admin and self.request.method in ("GET", "HEAD"):
            # What the settings have for an agent.
            return redirect("accounts-tokens")
        return super().check_access()

    def show(self, form: Form) -> HttpResponse:
        return self.render_form(form, address=f"{self.request.account.prefix}.{settings.BASE_DOMAIN}")

    def get(self, request) -> HttpResponse:
        account = request.account
        values = {name: getattr(account, name) for name in AccountForm.base_fields}
        return self.show(AccountForm(initial=values, account=account))

    def save(self, request) -> HttpResponse:
        account = request.account
        form = AccountForm(request.POST, account=account)
        if not form.is_valid() or not self.submit_form(form, lambda: account.change(**form.cleaned_data)):
            return self.show(form)
        messages.success(request, _("The account is saved."))
        return redirect("accounts-account")
