"""What users say of themselves, and how and where they sign in."""

from http import HTTPStatus

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.validators import URLValidator
from django.middleware.csrf import rotate_token
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override

from accounts import links, throttling
from accounts.cookies import delete_session
from accounts.models import Session, User
from accounts.pages.forms import (
    CurrentPassword,
    Email,
    Form,
    GuardedForm,
    Login,
    LongSelect,
    NewPassword,
    check_login,
    check_password_rules,
    languages,
    zones,
)
from accounts.pages.password import LinkPage, tell, tell_of_change
from accounts.pages.settings import to_id
from core.api.throttling import count_from_address
from core.db.tenancy import fold
from core.db.transactions import in_transaction
from core.pages.base import Page, redirect

EMAIL = "email"


class WebAddress(forms.URLField):
    default_validators = [URLValidator(schemes=["http", "https"])]


class AboutForm(Form):
    name = forms.CharField(
        label=gettext_lazy("Your name"), max_length=255, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    login = Login()
    www = WebAddress(
        label=gettext_lazy("Your page on the web"),
        max_length=255,
        required=False,
        assume_scheme="https",
        widget=forms.URLInput(attrs={"autocomplete": "url"}),
    )
    description = forms.CharField(
        label=gettext_lazy("A few words about you"),
        max_length=65536,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
    )

    def __init__(self, *args, user: User, **kwargs):
        self.user = user
        shown = {"name": user.name, "login": user.login, "www": user.www, "description": user.description}
        super().__init__(*args, initial=shown, auto_id="about-%s", **kwargs)

    def clean_www(self) -> str | None:
        return self.cleaned_data["www"] or None

    def clean_description(self) -> str:
        # Browsers end the lines of a text as a form does.
        return self.cleaned_data["description"].replace("\r\n", "\n")

    def clean(self):
        values = super().clean()
        check_login(self, email=self.user.email, before=self.user.login)
        return values


class NotificationForm(Form):
    notification = forms.ChoiceField(
        label=gettext_lazy("News about"),
        help_text=gettext_lazy("For programs that send news of this forum. Rostrum itself sends none."),
        widget=forms.RadioSelect,
        choices=[
            (User.Notification.ALL, gettext_lazy("Everything: every new suggestion and comment")),
            (User.Notification.OWN, gettext_lazy("What is mine: suggestions I wrote, voted for or commented on")),
            (User.Notification.NONE, gettext_lazy("Nothing")),
        ],
    )

    def __init__(self, *args, user: User, **kwargs):
        super().__init__(*args, initial={"notification": user.notification}, auto_id="notification-%s", **kwargs)


class RegionForm(Form):
    # The user says none.
    UNSAID = "auto"

    language = forms.ChoiceField(label=gettext_lazy("Language"))
    time_zone = forms.ChoiceField(label=gettext_lazy("Time zone"), widget=LongSelect)

    def __init__(self, *args, user: User, **kwargs):
        shown = {"language": user.language or self.UNSAID, "time_zone": user.time_zone or self.UNSAID}
        super().__init__(*args, initial=shown, auto_id="region-%s", **kwargs)
        zone = _("The forum's: %(zone)s") % {"zone": user.account.time_zone.replace("_", " ")}
        self.fields["language"].choices = [(self.UNSAID, _("The one my browser asks for")), *languages()]
        self.fields["time_zone"].choices = [(self.UNSAID, zone), *zones()]

    def clean(self):
        return {name: None if value == self.UNSAID else value for name, value in super().clean().items()}


class Profile(Page):
    """Three forms, each saved on its own; `part` says which was sent."""

    template_name = "accounts/profile.html"
    access = "user"
    parts = {"about": AboutForm, "notification": NotificationForm, "region": RegionForm}

    def get(self, request):
        return self.render_parts()

    def post(self, request):
        user, part = request.user, request.POST.get("part", "")
        if part not in self.parts:
            return self.render_parts()
        form = self.parts[part](request.POST, user=user)
        change = user.change_profile if part == "about" else user.change_preferences
        if not form.is_valid() or not self.submit_form(form, lambda: change(**form.cleaned_data)):
            return self.render_parts(part, form)
        with override(user.language):
            messages.success(request, _("Saved."))
        return redirect("accounts-profile")

    def render_parts(self, part: str = "", form: Form | None = None):
        """With the form that was sent and is not right yet."""
        shown = {name: kind(user=self.request.user) for name, kind in self.parts.items() if name != part}
        if form is not None:
            shown[part] = form
        status = HTTPStatus.OK if form is None else HTTPStatus.UNPROCESSABLE_ENTITY
        return self.render(http_status=status, part="profile", forms=shown)


class EmailForm(GuardedForm):
    email = Email(label=gettext_lazy("New e-mail"))
    current = CurrentPassword()

    def __init__(self, *args, **kwargs):
        super().__init__(*args, auto_id="email-%s", **kwargs)


class PasswordForm(GuardedForm):
    current = CurrentPassword()
    password = NewPassword(label=gettext_lazy("New password"))

    def __init__(self, *args, **kwargs):
        super().__init__(*args, auto_id="password-%s", **kwargs)

    def clean(self):
        values = super().clean()
        check_password_rules(self, "password", self.request.user)
        return values


class Security(Page):
    """E-mail, password, and the browsers where the user is signed in."""

    template_name = "accounts/security.html"
    access = "user"
    parts = {"email": EmailForm, "password": PasswordForm}
    SHOWN = 50

    def get(self, request):
        return self.render_parts()

    def post(self, request):
        part = request.POST.get("part", "")
        if part not in self.parts:
            return self.render_parts()
        form = self.parts[part](request.POST, request=request)
        if not form.is_valid():
            return self.render_parts(part, form)
        (self.ask_about if part == "email" else self.change_password)(form)
        return redirect("accounts-security")

    def ask_about(self, form: EmailForm) -> None:
        """The new e-mail counts once it has been read; whether it is somebody else's is told to that one alone."""
        request, user, email = self.request, self.request.user, form.cleaned_data["email"]
        count_from_address(request, EMAIL)
        if throttling.may_be_mailed(user.account_id, email):
            if request.account.users.filter(email_key=fold(email)).exclude(id=user.id).exists():
                tell(user, "email_taken", request, to=email)
            else:
                token = links.sign({"email": email}, *user.subject_of(EMAIL))
                path = reverse("accounts-email-confirm", query={"user": user.id, "token": token})
                tell(user, "email", request, to=email, url=request.address.url + path)
        messages.success(
            request, _("An e-mail to %(email)s is on its way. Open the link in it to confirm.") % {"email": email}
        )

    def change_password(self, form: PasswordForm) -> None:
        user, session = self.request.user, self.request.session
        in_transaction(lambda: user.change_password(form.cleaned_data["password"], but=session.id))
        rotate_token(self.request)
        tell_of_change(user, self.request)
        messages.success(self.request, _("Your password is changed. You are signed out everywhere else."))

    def render_parts(self, part: str = "", form: Form | None = None):
        request = self.request
        shown = {name: kind(request=request) for name, kind in self.parts.items() if name != part}
        if form is not None:
            shown[part] = form
        status = HTTPStatus.OK if form is None else HTTPStatus.UNPROCESSABLE_ENTITY
        sessions = Session.objects.of(request.user).order_by("-seen_at", "-id")[: self.SHOWN]
        return self.render(http_status=status, part="security", forms=shown, sessions=sessions)


class EndSession(Page):
    """`end` is the id of a session of the user's, or "others"."""

    access = "user"

    def post(self, request):
        end, own = request.POST.get("end", ""), request.session
        sessions = Session.objects.of(request.user)
        if end == "others":
            sessions.exclude(id=own.id).delete()
            messages.success(request, _("You are signed out everywhere else."))
        elif end == str(own.id):
            own.delete()
            messages.success(request, _("You are signed out."))
            response = redirect(settings.HOME_URL)
            delete_session(response)
            return response
        else:
            # One that has ended meanwhile is what was asked for.
            sessions.filter(id=to_id(end)).delete()
            messages.success(request, _("You are signed out there."))
        return redirect("accounts-security")


class ConfirmEmail(LinkPage):
    """Where the link to a new e-mail leads. A button changes it: programs that check e-mails open the links in them."""

    template_name = "accounts/confirm_email.html"
    purpose, again = EMAIL, "accounts-security"

    def get(self, request):
        return self.render(email=self.said["email"], login=self.user.login)

    def post(self, request):
        before, email = self.user.email, self.said["email"]

        def change() -> None:
            self.read_link(held=True)
            if self.user is not None:
                self.user.change_email(email)

        done = self.perform(change)
        if self.user is None:
            return self.void()
        if done:
            messages.success(request, _("Your e-mail is changed."))
            if fold(before) != fold(email):
                tell(self.user, "email_changed", request, to=before, email=email)
        return redirect("accounts-security")
