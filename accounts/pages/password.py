"""Another password for whoever has forgotten theirs: by a link in an e-mail, good for a day, and once."""

from http import HTTPStatus

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts import links, mail, throttling
from accounts.models import User
from accounts.pages.forms import Form, NewPassword, check_password_rules
from accounts.pages.settings import to_id
from accounts.pages.sign_in import sign_in
from core.api.throttling import count_from_address
from core.db.transactions import in_transaction
from core.pages.base import Page, redirect

PURPOSE = "password"


class ForgottenForm(Form):
    login = forms.CharField(
        label=gettext_lazy("Login or e-mail"),
        max_length=255,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autofocus": True}),
    )


class Forgotten(Page):
    template_name = "accounts/password.html"

    def get(self, request):
        return self.render_form(ForgottenForm())

    def post(self, request):
        form = ForgottenForm(request.POST)
        if not form.is_valid():
            return self.render_form(form)
        count_from_address(request, PURPOSE)
        account, login = request.account, form.cleaned_data["login"]
        # The same work for an unknown name, so that the time of the answer does not tell it from a known one.
        user, is_known = User.objects.addressee(account, login)
        if throttling.may_be_mailed(account.id, login):
            token = links.sign({}, *user.subject_of(PURPOSE))
            path = reverse("accounts-password-new", query={"user": user.id, "token": token})
            url = request.address.url + path
            tell(user, "password", request, login=user.login, url=url, delivered=is_known)
        # The same for all, whoever it is.
        return redirect("accounts-password-sent")


def tell(user: User, template: str, request, *, to: str = "", **context) -> None:
    """Send an e-mail to a user, or to another address of the user's, in the user's language. See `mail.send`."""
    language = user.language or request.account.language
    mail.send(to or user.email, template, language=language, sender=request.site.name, **context)


def tell_of_change(user: User, request) -> None:
    tell(user, "password_changed", request, url=request.address.url + reverse("accounts-password"))


class ForgottenSent(Page):
    template_name = "accounts/sent.html"

    def get(self, request):
        return self.render(of=PURPOSE, again=reverse("accounts-password"))


class NewPasswordForm(Form):
    password = NewPassword(label=gettext_lazy("New password"))

    def __init__(self, *args, user: User, **kwargs):
        super().__init__(*args, **kwargs)
        self.user = user

    def clean(self):
        values = super().clean()
        check_password_rules(self, "password", self.user)
        return values


class LinkPage(Page):
    """Where a link in an e-mail leads, which is good once. `user` is whom it is about, and `said` what it says."""

    purpose = ""
    # The route where there is another one.
    again = ""

    def check_access(self):
        self.read_link()
        return self.void() if self.user is None else super().check_access()

    def read_link(self, *, held: bool = False) -> None:
        """`user` is None where the link is void. `held`, the user is held until the transaction ends, so that nobody who
        follows the link at the same time comes between."""
        number, token = to_id(self.request.GET.get("user")), self.request.GET.get("token", "")
        users = self.request.account.users.filter(id=number or 0, is_active=True)
        self.user = (users.select_for_update(no_key=True) if held else users).first()
        self.said = self.user and links.read(token, *self.user.subject_of(self.purpose))
        if self.said is None:
            self.user = None

    def void(self) -> HttpResponse:
        return self.render("accounts/void.html", http_status=HTTPStatus.NOT_FOUND, again=reverse(self.again))


class Renewed(LinkPage):
    template_name = "accounts/new_password.html"
    purpose, again = PURPOSE, "accounts-password"

    def get(self, request):
        return self.render_form(NewPasswordForm(user=self.user), user=self.user)

    def post(self, request):
        form = NewPasswordForm(request.POST, user=self.user)
        if not form.is_valid():
            return self.render_form(form, user=self.user)

        def act() -> None:
            self.read_link(held=True)
            if self.user is not None:
                self.user.change_password(form.cleaned_data["password"])

        in_transaction(act)
        if self.user is None:
            return self.void()
        tell_of_change(self.user, request)
        messages.success(request, _("Your password is changed, and you are signed in."))
        # The session that the browser had, if any, may have ended with the others.
        return sign_in(request, redirect(settings.HOME_URL), self.user)
