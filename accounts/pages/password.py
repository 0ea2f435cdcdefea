"""Another password for whoever has forgotten theirs: by a link in an e-mail, good for a day, and once."""

from http import HTTPStatus
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts import links, mail, throttling
from accounts.models import User
from accounts.pages.base import Page, base_url, redirect
from accounts.pages.forms import Form, NewPassword, check_password_rules
from accounts.pages.sign_in import sign_in
from accounts.views import in_transaction

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
        throttling.count_from_address(request, PURPOSE)
        account, login = request.account, form.cleaned_data["login"]
        user = User.objects.known_as(account.id, login)
        if throttling.may_be_mailed(account.id, login) and user is not None and user.is_active:
            token = links.sign({}, *user.subject_of(PURPOSE))
            query = urlencode({"user": user.id, "token": token})
            url = f"{base_url(request)}/app/password/new?{query}"
            tell(user, "password", request, login=user.login, url=url)
        # The same for all, whoever it is.
        return redirect("/app/password/sent")


def tell(user: User, template: str, request, *, to: str = "", **context) -> None:
    """Send an e-mail to a user, or to another address of the user's, in the user's language."""
    language = user.language or request.account.language
    mail.send(to or user.email, template, language=language, sender=request.forum.name, **context)


def tell_of_change(user: User, request) -> None:
    tell(user, "password_changed", request, url=f"{base_url(request)}/app/password")


class ForgottenSent(Page):
    template_name = "accounts/sent.html"

    def get(self, request):
        return self.render(of=PURPOSE, again="/app/password")


class NewPasswordForm(Form):
    password = NewPassword(label=gettext_lazy("New password"))

    def __init__(self, *args, user: User, **kwargs):
        super().__init__(*args, **kwargs)
        self.user = user

    def clean(self):
        values = super().clean()
        check_password_rules(self, "password", self.user)
        return values


def user_of_link(request, purpose: str) -> tuple[User | None, dict | None]:
    """The user that a link is about, and what it says; None where it is void."""
    number, token = request.GET.get("user", ""), request.GET.get("token", "")
    if not (number.isascii() and number.isdigit() and len(number) <= 18):
        return None, None
    user = request.account.users.filter(id=int(number), is_active=True).first()
    said = user and links.read(token, *user.subject_of(purpose))
    return (None, None) if said is None else (user, said)


class Renewed(Page):
    template_name = "accounts/new_password.html"

    def refuse(self):
        self.user, _said = user_of_link(self.request, PURPOSE)
        if self.user is None:
            return self.render("accounts/void.html", http_status=HTTPStatus.NOT_FOUND, again="/app/password")
        return super().refuse()

    def get(self, request):
        return self.render_form(NewPasswordForm(user=self.user), user=self.user)

    def post(self, request):
        form = NewPasswordForm(request.POST, user=self.user)
        if not form.is_valid():
            return self.render_form(form, user=self.user)
        in_transaction(lambda: self.user.change_password(form.cleaned_data["password"]))
        tell_of_change(self.user, request)
        messages.success(request, _("Your password is changed, and you are signed in."))
        # The session that the browser had, if any, may have ended with the others.
        return sign_in(request, redirect("/"), self.user)
