"""The settings pages of the account: its name and defaults, how long data are kept, and exchange rates."""

from decimal import Decimal
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.forms import BoundField
from django.http import HttpResponse, QueryDict
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

from accounts.account.exchange_rates import RatesUnavailable, check_rates, fetch_euro_rates
from accounts.account.models import Account
from accounts.hosts.requests import UserRequest
from accounts.layout.forms import Form, LongSelect, TimeZoneField
from accounts.layout.settings import SettingsPage
from core.http.regions import country_names
from core.numbers import CURRENCIES
from core.pages.base import redirect
from core.pages.formatting import date_text, number_text
from core.pages.navigation import start_page_choices
from core.pages.number_fields import TypedNumberField


class AccountForm(Form):
    name = forms.CharField(label=_("Name"), max_length=255)
    time_zone = TimeZoneField(
        label=_("Time zone"),
        help_text=_("Times are shown in it, here and to programs. Everyone can choose another one in their profile."),
    )
    language = forms.ChoiceField(
        label=_("Language"),
        choices=settings.LANGUAGES,
        help_text=_("For e-mails, and for visitors whose browser asks for a language we don't have."),
    )
    country = forms.ChoiceField(
        label=_("Country"),
        required=False,
        widget=LongSelect,
        help_text=_("Dates, numbers and the first day of the week are written as there."),
    )
    currency = forms.CharField(
        label=_("Currency"),
        max_length=3,
        help_text=_("For new deals: the three letters of ISO 4217, such as EUR, PLN or USD."),
    )
    start_page = forms.ChoiceField(
        label=_("Page at which the team starts"),
        help_text=_("After signing in, and with the name in the header."),
    )
    confirms_user_links = forms.BooleanField(
        label=_("Link users to customers without asking"),
        required=False,
        help_text=_(
            "If the verified e-mail of a member is that of a client or a contact. Otherwise such a link is only proposed."
        ),
    )
    link_guests_by_email = forms.BooleanField(
        label=_("Link orders of guests to the client with their e-mail"),
        required=False,
        help_text=_(
            "When a shop sends a deal with a new customer, and exactly one client has the customer's e-mail. The client is not changed."
        ),
    )
    currency.widget.attrs.update({"autocapitalize": "characters", "spellcheck": "false", "class": "short"})

    def __init__(self, data: QueryDict | None = None, *, account: Account) -> None:
        super().__init__(data, initial={name: getattr(account, name) for name in self.base_fields})
        self.set_choices("start_page", start_page_choices())
        self.set_choices(
            "country", [("", gettext("As the language does it")), *country_names(get_language() or "en").items()]
        )
        if currency := self.data.get("currency"):
            self.replace_data("currency", currency.strip().upper())
        self.account = account

    def clean_currency(self) -> str:
        currency: str = self.cleaned_data["currency"]
        # Keep a current currency that has been removed from the list.
        if currency not in CURRENCIES and currency != self.account.currency:
            raise forms.ValidationError(gettext("This is not a code of ISO 4217, such as EUR"))
        return currency


class AccountPage(SettingsPage):
    """The first page of the settings: the account itself."""

    template_name = "accounts/account/account.html"
    part = "account"
    actions = {"save": "save"}

    def check_access(self) -> HttpResponse | None:
        user = self.request.user
        if user is not None and user.is_team and not user.is_admin and self.request.method in ("GET", "HEAD"):
            # The only settings page for agents.
            return redirect("accounts-tokens")
        return super().check_access()

    def show(self, form: Form) -> HttpResponse:
        return self.render(form=form, address=f"{self.request.account.prefix}.{settings.BASE_DOMAIN}")

    def get(self, request: UserRequest) -> HttpResponse:
        return self.show(AccountForm(account=request.account))

    def save(self, request: UserRequest) -> HttpResponse:
        account = request.account
        form = AccountForm(request.POST, account=account)
        if not form.is_valid() or not self.submit_form(form, lambda: account.change(**form.cleaned_data)):
            return self.show(form)
        messages.success(request, gettext("The account is saved."))
        return redirect("accounts-account")


class DataForm(Form):
    trash_days = forms.IntegerField(
        label=_("Days in the trash"),
        min_value=Account.MIN_TRASH_DAYS,
        max_value=Account.MAX_TRASH_DAYS,
        help_text=_("From 7 to 365. What is in the trash for longer is erased for good within an hour."),
    )
    inactive_member_months = forms.IntegerField(
        label=_("Months until inactive members are erased"),
        required=False,
        min_value=Account.MIN_INACTIVE_MONTHS,
        max_value=Account.MAX_INACTIVE_MONTHS,
        help_text=_(
            "From 12 to 120, or nothing to keep them. Members who have not signed in, written, commented or voted for this time get"
            " an e-mail, and are erased 30 days after it unless they return. What they wrote stays, under “Deleted user”."
        ),
    )


class DataPage(SettingsPage):
    """How long data are kept."""

    template_name = "accounts/account/data.html"
    part = "data"
    actions = {"save": "save"}

    def get(self, request: UserRequest) -> HttpResponse:
        return self.render(
            form=DataForm(initial={name: getattr(request.account, name) for name in DataForm.base_fields})
        )

    def save(self, request: UserRequest) -> HttpResponse:
        form = DataForm(request.POST)
        if not form.is_valid() or not self.submit_form(form, lambda: request.account.change(**form.cleaned_data)):
            return self.render(form=form)
        messages.success(request, gettext("Saved."))
        return redirect("accounts-data")


class RatesForm(Form):
    """The rates of the account, and one further rate."""

    currency = forms.ChoiceField(label=_("Further currency"), required=False, widget=LongSelect)
    rate = TypedNumberField(label=_("Rate"), required=False)

    def __init__(self, *submitted: QueryDict, account: Account) -> None:
        super().__init__(*submitted)
        self.account = account
        for code, rate in account.exchange_rates.items():
            initial = number_text(Decimal(rate), is_grouped=False)
            self.fields[code] = TypedNumberField(label=f"1 {code} =", required=False, initial=initial)
        others = sorted(CURRENCIES - {account.currency, *account.exchange_rates})
        self.set_choices("currency", [("", ""), *((code, code) for code in others)])

    @property
    def rates(self) -> list[BoundField]:
        return [self[code] for code in self.account.exchange_rates]

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        if bool(values.get("currency")) != bool(values.get("rate")) and not self.errors:
            self.add_error("currency" if values.get("rate") else "rate", gettext("Can't be blank"))
        return values

    def read(self) -> dict[str, object]:
        """Return the rates by currency. A blank rate is removed."""
        values = {**self.cleaned_data, self.cleaned_data["currency"]: self.cleaned_data["rate"]}
        return {
            code: values[code].text for code in (*self.account.exchange_rates, values["currency"]) if values.get(code)
        }


class RatesPage(SettingsPage):
    """The exchange rates by which sums are converted into the currency of the account."""

    template_name = "accounts/account/rates.html"
    part = "rates"
    actions = {"save": "save", "take": "take"}

    def get(self, request: UserRequest) -> HttpResponse:
        return self.render(form=RatesForm(account=request.account))

    def save(self, request: UserRequest) -> HttpResponse:
        account = request.account
        form = RatesForm(request.POST, account=account)

        def act() -> None:
            account.change(exchange_rates=check_rates(form.read(), account.currency))

        if not form.is_valid() or not self.submit_form(form, act):
            return self.render(form=form)
        messages.success(request, gettext("The exchange rates are saved."))
        return redirect("accounts-rates")

    def take(self, request: UserRequest) -> HttpResponse:
        """Read the rates of the European Central Bank now, and from then on every day."""
        try:
            day, values = fetch_euro_rates(request.account.id)
        except RatesUnavailable:
            messages.error(
                request, gettext("The rates of the European Central Bank can't be read now. Try again later.")
            )
            return redirect("accounts-rates")
        message = gettext("The rates of %(day)s are saved. They are updated every working day.") % {
            "day": date_text(day)
        }
        self.perform(lambda: request.account.take_euro_rates(day, values), success_message=message)
        return redirect("accounts-rates")
