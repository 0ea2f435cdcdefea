"""The profile of a user: personal data, preferences, e-mail, password and sessions."""

from http import HTTPStatus
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.validators import URLValidator
from django.http import HttpResponse, QueryDict
from django.middleware.csrf import rotate_token
from django.urls import reverse
from django.utils.dates import WEEKDAYS
from django.utils.translation import get_language, gettext, override
from django.utils.translation import gettext_lazy as _

from accounts.erasure.erasing import Receipt, erase_user
from accounts.erasure.pages import redirect_to_receipt
from accounts.hosts.requests import PageRequest, UserRequest
from accounts.layout.forms import Form, LongSelect, TimeZoneField, usual_time_zones
from accounts.layout.settings import parse_id
from accounts.mail.sending import Purpose, count_email, sign_link
from accounts.sessions.cookies import CODE_COOKIE, SESSION_COOKIE, delete_cookie, set_cookie
from accounts.sessions.models import Session
from accounts.sessions.throttling import count_email_to_user
from accounts.sign_in.emails import email_password_changed, email_password_link, email_user
from accounts.sign_in.forms import (
    Code,
    CurrentPassword,
    EndAccess,
    PasswordConfirmationForm,
    send_code,
    too_many_attempts,
    verify_code,
)
from accounts.sign_in.models import SignInCode
from accounts.sign_in.pages.email_links import EmailLinkPage
from accounts.users.delivery import HOURS, NotificationDelivery
from accounts.users.forms import EmailFormField, LoginFormField, NewPassword, check_login, check_password_rules
from accounts.users.models import User
from accounts.users.preferences import set_preference
from core.db.transactions import in_transaction
from core.errors import Throttled
from core.http.regions import country_names
from core.http.throttling import count_from_address
from core.pages.base import Page, redirect, referring_path
from core.pages.formatting import REGION_PREFERENCE
from core.rows.trimmed import fold_email

# The purpose of the links that confirm an e-mail address.
EMAIL = "email"


class WebAddress(forms.URLField):
    default_validators = [URLValidator(schemes=["http", "https"])]


class UserForm(Form):
    """A form whose fields are those of the user with the same names."""

    def __init__(self, data: QueryDict | None = None, *, request: UserRequest) -> None:
        self.user = request.user
        super().__init__(data, initial={name: getattr(self.user, name, "") for name in self.base_fields})


class ProfileForm(UserForm):
    id_format = "about-%s"

    name = forms.CharField(label=_("Your name"), max_length=255, widget=forms.TextInput(attrs={"autocomplete": "name"}))
    login = LoginFormField()
    www = WebAddress(
        label=_("Your page on the web"),
        max_length=255,
        required=False,
        assume_scheme="https",
        empty_value=None,
        widget=forms.URLInput(attrs={"autocomplete": "url"}),
    )
    description = forms.CharField(
        label=_("A few words about you"),
        max_length=65536,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
    )

    def clean_description(self) -> str:
        # Browsers send line breaks as CRLF.
        return str(self.cleaned_data["description"]).replace("\r\n", "\n")

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        check_login(self, email=self.user.email, current=self.user.login)
        return values


class NameForm(Form):
    name = forms.CharField(max_length=255, required=False)

    def clean_name(self) -> str:
        return " ".join(self.cleaned_data["name"].split())


class NotificationForm(UserForm):
    id_format = "notification-%s"

    notification = forms.ChoiceField(
        label=_("News about"),
        widget=forms.RadioSelect,
        choices=[
            (User.Notification.ALL, _("Everything: every new suggestion and comment")),
            (
                User.Notification.OWN,
                _("What is mine: suggestions I wrote, voted for, commented on or follow"),
            ),
            (User.Notification.NONE, _("Nothing")),
        ],
    )
    delivery = forms.ChoiceField(label=_("By e-mail"), widget=forms.RadioSelect, choices=NotificationDelivery.choices)
    digest_hour = forms.TypedChoiceField(
        label=_("Hour of the daily or weekly e-mail"),
        coerce=int,
        choices=[(hour, f"{hour}:00") for hour in HOURS],
        help_text=_("In your time zone, which you can set below."),
    )
    digest_weekday = forms.TypedChoiceField(
        label=_("Day of the weekly e-mail"), coerce=int, choices=[(day, WEEKDAYS[day]) for day in range(7)]
    )
    notify_new_posts = forms.BooleanField(label=_("Tell me of every new suggestion"), required=False)
    notify_sign_ups = forms.BooleanField(label=_("Tell me of every new member"), required=False)

    def __init__(self, data: QueryDict | None = None, *, request: UserRequest) -> None:
        super().__init__(data, request=request)
        if not self.user.is_team:
            del self.fields["notify_new_posts"], self.fields["notify_sign_ups"]


class PrivacyForm(UserForm):
    id_format = "privacy-%s"

    shows_votes = forms.BooleanField(
        label=_("Show my name beside my votes"),
        required=False,
        help_text=_("Otherwise only the team sees who votes; everyone else sees the number of votes."),
    )


class RegionForm(UserForm):
    id_format = "region-%s"
    # The choice that leaves the preference empty.
    AUTO = "auto"

    language = forms.ChoiceField(label=_("Language"))
    time_zone = TimeZoneField(
        label=_("Time zone"), required=False, help_text=_("Type a city. Without one, it is that of the forum.")
    )
    region = forms.ChoiceField(
        label=_("Dates and numbers"), required=False, widget=LongSelect, help_text=_("Also on which day a week begins.")
    )

    def __init__(self, data: QueryDict | None = None, *, request: UserRequest) -> None:
        super().__init__(data, request=request)
        self.initial["language"] = self.initial["language"] or self.AUTO
        self.initial["region"] = self.user.preferences.get(REGION_PREFERENCE, "")
        self.set_choices("language", [(self.AUTO, gettext("The one my browser asks for")), *settings.LANGUAGES])
        countries = country_names(get_language() or settings.LANGUAGE_CODE)
        self.set_choices("region", [("", gettext("Automatic")), *countries.items()])
        self.fields["time_zone"].widget.attrs["placeholder"] = self.user.account.time_zone

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        return values | {
            name: None for name, none in (("language", self.AUTO), ("time_zone", "")) if values.get(name) == none
        }


class ShortcutsForm(UserForm):
    id_format = "shortcuts-%s"

    shortcuts = forms.BooleanField(
        label=_("Single keys act on the pages of the team"),
        help_text=_("Switch this off if you use speech input, or if keys are pressed by mistake."),
        required=False,
    )


class DensityForm(Form):
    """How much the pages show at once."""

    id_format = "density-%s"
    density = forms.ChoiceField(
        label=_("Density"),
        widget=forms.RadioSelect,
        choices=[("comfortable", _("Comfortable")), ("compact", _("Compact: more at once"))],
    )

    def __init__(self, data: QueryDict | None = None, *, request: UserRequest) -> None:
        super().__init__(data, initial={"density": request.user.preferences.get("density", "comfortable")})


def set_density(user: User, *, density: str) -> None:
    set_preference(user, "density", density)


class PartsPage(Page):
    """A page with forms that are saved separately. The field `part` names the form that was sent."""

    request: UserRequest
    access = "user"
    # The name of the page's entry in the menu.
    part = ""
    parts: dict[str, type[UserForm | DensityForm | PasswordConfirmationForm]] = {}

    def get(self, request: UserRequest) -> HttpResponse:
        return self.render_parts()

    def render_parts(self, part: str = "", form: Form | None = None, **context: Any) -> HttpResponse:
        """Render the page. `form` is the invalid form that was sent, and `part` is its name."""
        all_forms = {name: form_class(request=self.request) for name, form_class in self.parts.items()}
        status = HTTPStatus.OK if form is None else HTTPStatus.UNPROCESSABLE_ENTITY
        shown = all_forms if form is None else all_forms | {part: form}
        return self.render(http_status=status, part=self.part, forms=shown, **context)


class Profile(PartsPage):
    template_name = "accounts/profile/profile.html"
    part = "profile"
    parts = {
        "about": ProfileForm,
        "notification": NotificationForm,
        "privacy": PrivacyForm,
        "region": RegionForm,
        "density": DensityForm,
        "shortcuts": ShortcutsForm,
    }

    def post(self, request: UserRequest) -> HttpResponse:
        user, part = request.user, request.POST.get("part", "")
        if part == "bounced":
            in_transaction(user.reset_bounces)
            messages.success(request, gettext("The next notification is sent to your e-mail again."))
            return redirect("accounts-profile")
        if part == "time_zone":
            return self.choose_time_zone()
        if part not in self.parts:
            return self.render_parts()
        form = self.parts[part](request.POST, request=request)

        def act() -> None:
            values = dict(form.cleaned_data)
            if "region" in values:
                set_preference(user, REGION_PREFERENCE, values.pop("region"))
            if part == "density":
                set_density(user, **values)
            else:
                (user.change_profile if part == "about" else user.change)(**values)

        if not form.is_valid() or not self.submit_form(form, act):
            return self.render_parts(part, form)
        with override(user.language):
            messages.success(request, gettext("Saved."))
        return redirect("accounts-profile")

    def choose_time_zone(self) -> HttpResponse:
        """Save the time zone that a page has offered, and return to that page."""
        zone = self.request.POST.get("time_zone", "")
        if zone in usual_time_zones() or zone == self.request.account.time_zone:
            in_transaction(lambda: self.request.user.change(time_zone=zone))
        return redirect(referring_path(self.request))


class EmailForm(PasswordConfirmationForm):
    id_format = "email-%s"

    email = EmailFormField(label=_("New e-mail"))
    current = CurrentPassword()


class PasswordForm(PasswordConfirmationForm):
    id_format = "password-%s"

    current = CurrentPassword()
    password = NewPassword(label=_("New password"))
    ends_access = EndAccess()

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        check_password_rules(self, "password", self.request.user)
        return values


class ErasureForm(PasswordConfirmationForm):
    id_format = "erasure-%s"
    PURPOSE = "erasure"

    current = CurrentPassword()
    code = Code()
    texts = forms.BooleanField(
        label=_("Also delete my comments, and my suggestions that nobody else voted for or commented on"),
        required=False,
    )

    def __init__(self, data: QueryDict | None = None, *, request: UserRequest) -> None:
        super().__init__(data, request=request)
        self.needs_code = not request.user.has_usable_password()
        del self.fields["current" if self.needs_code else "code"]
        secret = request.COOKIES.get(CODE_COOKIE, "")
        # True after the e-mail with the code was sent.
        self.has_code = (
            self.needs_code and SignInCode.objects.usable(request.account.id, secret, purpose=self.PURPOSE).exists()
        )

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        try:
            if not verify_code(self.request, code, purpose=self.PURPOSE):
                self.add_error("code", _("Is not the code from the newest e-mail"))
        except Throttled as refused:
            self.add_error("code", too_many_attempts(refused))
        return code


class Security(PartsPage):
    """The page for the e-mail, the password and the sessions of the user."""

    template_name = "accounts/profile/security.html"
    part = "security"
    parts = {"email": EmailForm, "password": PasswordForm, "erasure": ErasureForm}
    MAX_SESSIONS_SHOWN = 50

    def post(self, request: UserRequest) -> HttpResponse:
        part = request.POST.get("part", "")
        if not request.user.has_usable_password():
            if part == "first-password":
                self.send_password_link()
                return redirect("accounts-security")
            if part == "erasure-code":
                return self.send_erasure_code()
        if part not in self.parts or (part != "erasure" and not request.user.has_usable_password()):
            return self.render_parts()
        form = self.parts[part](request.POST, request=request)
        if not form.is_valid():
            return self.render_parts(part, form)
        if part == "erasure":
            return self.erase(form)
        if part == "email":
            self.send_confirmation(form.cleaned_data["email"])
        else:
            self.change_password(form.cleaned_data["password"], ends_access=form.cleaned_data["ends_access"])
        return redirect("accounts-security")

    def erase(self, form: Form) -> HttpResponse:
        """Erase the user of the request, who is signed out."""
        receipts: list[Receipt] = []

        def act() -> None:
            # A further attempt needs the stored values.
            user = self.request.account.users.get(id=self.request.user.id)
            user.account = self.request.account
            receipts[:] = [erase_user(user, by=user, deletes_texts=form.cleaned_data["texts"])]

        if not self.submit_form(form, act):
            return self.render_parts("erasure", form)
        response = redirect_to_receipt(receipts[0])
        delete_cookie(response, SESSION_COOKIE)
        return response

    def send_erasure_code(self) -> HttpResponse:
        secret = send_code(self.request, "accounts/mail/erasure_code.txt", purpose=ErasureForm.PURPOSE)
        response = redirect(reverse("accounts-security") + "#erasure-form")
        if secret is not None:
            set_cookie(response, CODE_COOKIE, secret, SignInCode.LIFETIME)
        return response

    def send_password_link(self) -> None:
        """Send a user without a password the link to set one. The session alone does not prove who is using the browser."""
        request, user = self.request, self.request.user
        if count_email_to_user(request, Purpose.PASSWORD, user.email, user_id=user.id):
            email_password_link(user, request)
        messages.success(request, gettext("An e-mail to %(email)s is on its way.") % {"email": user.email})

    def send_confirmation(self, email: str) -> None:
        """Send a link to the new e-mail address. The address is saved when the link is used.

        If another user has the address, nobody but that user is told so, in the e-mail.
        """
        request, user = self.request, self.request.user
        count_from_address(request, EMAIL)
        if count_email(request, Purpose.NEW_EMAIL, email):
            holder = request.account.users.filter(email_key=fold_email(email)).exclude(id=user.id).first()
            if holder is not None:
                url = request.address.url + reverse("accounts-sign-in")
                email_user(holder, "accounts/mail/email_taken.txt", request, sign_in=url)
            else:
                token = sign_link({"email": email}, *user.link_subject(EMAIL))
                path = reverse("accounts-email-confirm", query={"user": user.id, "token": token})
                email_user(user, "accounts/mail/confirm_email.txt", request, to=email, url=request.address.url + path)
        message = gettext("An e-mail to %(email)s is on its way. Open the link in it to confirm.") % {"email": email}
        messages.success(request, message)

    def change_password(self, password: str, *, ends_access: bool) -> None:
        user, session = self.request.user, self.request.session

        def act() -> None:
            user.change_password(password, keep_family=session.family, ends_access=ends_access)
            email_password_changed(user, self.request)

        in_transaction(act)
        rotate_token(self.request)
        messages.success(self.request, gettext("Your password is changed. You are signed out everywhere else."))

    def render_parts(self, part: str = "", form: Form | None = None, **context: Any) -> HttpResponse:
        # Show a browser once, even if it is signed in at several hosts.
        sessions = Session.objects.newest_of_families(self.request.user, limit=self.MAX_SESSIONS_SHOWN)
        return super().render_parts(part, form, sessions=sessions, **context)


class EndSession(Page):
    """The action that ends sessions of the user. The field `end` is the id of a session, or "others"."""

    request: UserRequest
    access = "user"

    def post(self, request: UserRequest) -> HttpResponse:
        end, current_session = request.POST.get("end", ""), request.session
        sessions = Session.objects.active_for(request.user)
        if end == "others":
            in_transaction(lambda: request.user.end_sessions(by=request.user, keep_family=current_session.family))
            messages.success(request, gettext("You are signed out everywhere else."))
            return redirect("accounts-security")
        # It is not an error if the session has ended meanwhile.
        session = sessions.filter(id=parse_id(end) or 0).first()
        if session is not None:
            session.end()
        if session is not None and session.family == current_session.family:
            messages.success(request, gettext("You are signed out."))
            response = redirect(settings.HOME_URL)
            delete_cookie(response, SESSION_COOKIE)
            return response
        messages.success(request, gettext("You are signed out there."))
        return redirect("accounts-security")


class ConfirmEmail(EmailLinkPage):
    """The page that the link to a new e-mail address opens. A button saves the address, because e-mail scanners open links."""

    template_name = "accounts/profile/confirm_email.html"
    purpose, retry_route = EMAIL, "accounts-security"

    def get(self, request: PageRequest) -> HttpResponse:
        return self.render(email=self.payload["email"], login=self.user.login)

    def post(self, request: PageRequest) -> HttpResponse:
        old_email, email = self.user.email, self.payload["email"]
        is_valid = True

        def change() -> None:
            nonlocal is_valid
            is_valid = self.read_link(lock=True)
            if is_valid:
                self.user.change_email(email)
                if old_email != email:
                    email_user(self.user, "accounts/mail/email_changed.txt", request, to=old_email, email=email)

        is_done = self.perform(change)
        if not is_valid:
            return self.render_invalid_link()
        if is_done:
            messages.success(request, gettext("Your e-mail is changed."))
        return redirect("accounts-security")


class AnswerName(Page):
    """The answer of a new user to the question for their name, or "Not now". Each page asks until then."""

    request: UserRequest
    access = "user"
    # A custom domain may set the name that it shows, once. The profile is not served there.
    is_of_forum = True

    def post(self, request: UserRequest) -> HttpResponse:
        form = NameForm(request.POST)
        is_valid = form.is_valid()
        for error in form.errors.get("name", []):
            messages.error(request, f"{gettext('Your name')}: {error}")
        if is_valid and request.user.asks_name:
            name = "" if "later" in request.POST else form.cleaned_data["name"]
            message = gettext("Thank you, %(name)s.") % {"name": name} if name else ""
            self.perform(lambda: request.user.answer_name(name), success_message=message)
        return redirect(referring_path(request))
