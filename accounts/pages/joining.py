"""Becoming a user: by signing up, which begins and ends with one's e-mail, or by an invitation.

A stranger is never told whether an e-mail is somebody's: all are answered alike, and what there is to say is in the e-mail.
Nothing of a sign-up is stored, and no password is chosen, before the e-mail has been read.
"""

from dataclasses import dataclass
from http import HTTPStatus

from django import forms
from django.contrib import messages
from django.urls import reverse
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from accounts import links, mail, throttling
from accounts.models import Invitation, User
from accounts.pages.forms import Email, Form, Login, NewPassword, check_login, check_password_rules
from accounts.pages.sign_in import sign_in
from core.api.throttling import count_from_address
from core.db.tenancy import fold
from core.pages.base import Page, redirect, safe_path
from core.pages.routes import home_path, sign_in_path

SIGN_UP = "sign-up"


class SignUpForm(Form):
    email = Email()
    next = forms.CharField(required=False, max_length=2000, widget=forms.HiddenInput)


def no_sign_ups(page: Page):
    reads = page.request.method in ("GET", "HEAD")
    return page.render("accounts/no_sign_ups.html", http_status=HTTPStatus.OK if reads else HTTPStatus.FORBIDDEN)


class SignUp(Page):
    template_name = "accounts/sign_up.html"

    def check_access(self):
        if self.request.user is not None:
            return redirect(safe_path(self.request, self.request.GET.get("next")))
        return super().check_access() if self.request.site.takes_sign_ups else no_sign_ups(self)

    def get(self, request):
        return self.render_form(SignUpForm(initial={"next": safe_path(request, request.GET.get("next"))}))

    def post(self, request):
        form = SignUpForm(request.POST)
        if not form.is_valid():
            return self.render_form(form)
        count_from_address(request, SIGN_UP)
        email = form.cleaned_data["email"]
        # Programs fill in every field, this one too, which people do not see.
        if not request.POST.get("homepage") and throttling.may_be_mailed(request.account.id, email):
            self.write_to(email, safe_path(request, form.cleaned_data["next"]))
        messages.success(request, _("An e-mail to %(email)s is on its way.") % {"email": email})
        return redirect("accounts-sign-up-sent")

    def write_to(self, email: str, target: str) -> None:
        account, base = self.request.account, self.request.address.url
        user = account.users.filter(email_key=fold(email)).first()
        # Signed, queued and rendered in any case, so that the time of the answer does not tell who is known.
        token = links.sign({"email": email, "next": target}, SIGN_UP, account.id)
        if user is None:
            url = base + reverse("accounts-sign-up-finish", query={"token": token})
            mail.send(email, "sign_up", language=get_language(), sender=self.request.site.name, url=url)
        else:
            mail.send(
                user.email,
                "known",
                language=user.language or account.language,
                sender=self.request.site.name,
                login=user.login,
                sign_in=base + reverse("accounts-sign-in"),
                password=base + reverse("accounts-password"),
                delivered=user.is_active,
            )


class SignUpSent(Page):
    """It is the same for all."""

    template_name = "accounts/sent.html"

    def get(self, request):
        return self.render(of="sign-up", again=reverse("accounts-sign-up"))


class JoinForm(Form):
    name = forms.CharField(
        label=gettext_lazy("Your name"),
        max_length=255,
        help_text=gettext_lazy("Shown next to what you write."),
        widget=forms.TextInput(attrs={"autocomplete": "name", "autofocus": True}),
    )
    login = Login()
    password = NewPassword()

    def __init__(self, *args, email: str, **kwargs):
        super().__init__(*args, **kwargs)
        self.email = email

    def clean(self):
        values = super().clean()
        check_login(self, email=self.email)
        check_password_rules(
            self, "password", User(login=values.get("login"), email=self.email, name=values.get("name"))
        )
        return values


@dataclass
class Offer:
    """That whoever reads `email` may become a user, and goes on to `next` then."""

    email: str
    next: str
    role: str = User.Role.MEMBER


class Joining(Page):
    """Choose name, login and password. A button makes the user: programs that check e-mails open the links in them."""

    template_name = "accounts/join.html"
    # The route where to begin anew when the link is void.
    again = ""

    def offered(self) -> Offer | None:
        raise NotImplementedError

    def join(self, **values: str) -> User | None:
        """The new user; None if the offer ended meanwhile."""
        raise NotImplementedError

    def check_access(self):
        self.offer = self.offered()
        return self.void() if self.offer is None else super().check_access() or self.known()

    def get(self, request):
        login = User.objects.free_login(request.account.id, self.offer.email)
        return self.render_form(JoinForm(email=self.offer.email, initial={"login": login}), offer=self.offer)

    def post(self, request):
        form, made = JoinForm(request.POST, email=self.offer.email), []
        if not form.is_valid() or not self.submit_form(form, lambda: made.append(self.join(**form.cleaned_data))):
            # The e-mail may have been taken since.
            return self.known() or self.render_form(form, offer=self.offer)
        if made[-1] is None:
            return self.void()
        messages.success(request, _("Welcome! You are signed in."))
        return sign_in(request, redirect(self.offer.next), made[-1])

    def known(self):
        """For whoever has done it already, in another tab or with a first click."""
        request, key = self.request, fold(self.offer.email)
        if request.user is not None and request.user.email_key == key:
            return redirect(self.offer.next)
        if request.account.users.filter(email_key=key).exists():
            messages.info(request, _("You already have an account here. Please sign in."))
            return redirect(sign_in_path(self.offer.next))
        return None

    def void(self):
        return self.render(
            "accounts/void.html", http_status=HTTPStatus.NOT_FOUND, again=self.again and reverse(self.again)
        )


class SignUpFinish(Joining):
    again = "accounts-sign-up"

    def check_access(self):
        return super().check_access() if self.request.site.takes_sign_ups else no_sign_ups(self)

    def offered(self) -> Offer | None:
        said = links.read(self.request.GET.get("token", ""), SIGN_UP, self.request.account.id)
        return said and Offer(said["email"], said["next"])

    def join(self, **values: str) -> User:
        return User.objects.sign_up(self.request.account, email=self.offer.email, language=get_language(), **values)


class AcceptInvitation(Joining):
    def offered(self) -> Offer | None:
        self.invitation = Invitation.objects.holding(self.request.account.id, self.request.GET.get("secret", ""))
        return self.invitation and Offer(self.invitation.email, home_path(), role=self.invitation.role)

    def join(self, **values: str) -> User | None:
        return User.objects.accept(self.invitation, language=get_language(), **values)
