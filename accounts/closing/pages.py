"""The settings page on which owners delete their account, or keep it after all. They can also open it while the account is closed."""

from django import forms
from django.http import HttpResponse, QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.confirmation.pages import ConfirmedPage
from accounts.hosts.requests import UserRequest
from accounts.layout.forms import Form
from accounts.layout.settings import SettingsPage
from core.pages.base import redirect
from core.tenants import TenantUser


class AccountDeletionForm(Form):
    address = forms.CharField(
        label=_("Address of the account"),
        max_length=63,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )

    def __init__(self, data: QueryDict | None = None, *, account: Account) -> None:
        super().__init__(data)
        self.account = account
        self.fields["address"].help_text = gettext("Type %(prefix)s to confirm.") % {"prefix": account.prefix}

    def clean_address(self) -> str:
        address: str = self.cleaned_data["address"]
        if address != self.account.prefix:
            raise forms.ValidationError(gettext("Is not the address of this account"))
        return address


class ClosingPage(SettingsPage, ConfirmedPage):
    template_name = "accounts/closing/closing.html"
    part = "closing"
    actions = {"delete": "ask_deletion", "keep": "cancel_deletion"}
    works_when_closed = True

    def allows(self, user: TenantUser) -> bool:
        return self.request.user.is_owner

    def get(self, request: UserRequest) -> HttpResponse:
        return self.show(AccountDeletionForm(account=request.account))

    def show(self, form: Form) -> HttpResponse:
        return self.render(form=form, days=Account.DELETION_DELAY.days)

    def ask_deletion(self, request: UserRequest) -> HttpResponse:
        form = AccountDeletionForm(request.POST, account=request.account)
        if not form.is_valid() or not self.submit_form(form, request.account.ask_deletion):
            return self.show(form)
        return redirect("accounts-closing")

    def cancel_deletion(self, request: UserRequest) -> HttpResponse:
        self.perform(request.account.cancel_deletion, success_message=gettext("The account is kept."))
        return redirect("accounts-closing")
