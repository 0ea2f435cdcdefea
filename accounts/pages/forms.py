"""What the forms of all rooms share: labels, limits, and errors beside the fields."""

import zoneinfo
from functools import cache

from django import forms
from django.conf import settings
from django.contrib.auth import password_validation
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.forms.utils import flatatt
from django.utils.functional import lazy
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts import passwords, throttling
from accounts.api.users import PASSWORD_ERRORS
from accounts.models import User
from accounts.names import has_invisible
from core.db.tenancy import fold
from core.db.text import is_xml_text
from core.errors import Throttled


class Form(forms.Form):
    """A form of a page. Each field is drawn by `core/field.html`, with its label, its help and its errors."""

    required_css_class = "required"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, label_suffix="", **kwargs)
        for field in self.fields.values():
            if field.required:
                field.error_messages["required"] = _("Can't be blank")

    def clean(self):
        values = super().clean()
        for name, value in list(values.items()):
            if isinstance(value, str) and not is_xml_text(value):
                self.add_error(name, _("Has characters that can't be stored"))
        return values


def validate_visible(name: str) -> None:
    if has_invisible(name):
        raise ValidationError(_("Has an invisible character, or one that changes the direction of the text"))


class Email(forms.EmailField):
    default_validators = [*forms.EmailField.default_validators, validate_visible]

    def __init__(self, **kwargs):
        super().__init__(**{"label": _("E-mail"), "max_length": 255, **kwargs})
        self.widget.attrs.update(autocomplete="email")


class Login(forms.CharField):
    """A login that is being chosen."""

    default_validators = [
        RegexValidator(rf"^{User.LOGIN_PATTERN}\Z", _("Can't have a colon")),
    ]

    def __init__(self, **kwargs):
        help_text = _("The short name that you can sign in with, as well as with your e-mail.")
        super().__init__(**{"label": _("Login"), "max_length": 255, "help_text": help_text, **kwargs})
        self.widget.attrs.update(autocomplete="username", autocapitalize="none", spellcheck="false")


class CurrentPassword(forms.CharField):
    """The password that the user has; `clean` of a `GuardedForm` checks it."""

    def __init__(self, **kwargs):
        widget = forms.PasswordInput(attrs={"autocomplete": "current-password"})
        super().__init__(label=_("Current password"), max_length=1024, strip=False, widget=widget)


class NewPassword(forms.CharField):
    """A password that is being chosen. The rules are Django's validators; `clean_new_password` of the form applies them."""

    def __init__(self, **kwargs):
        widget = forms.PasswordInput(attrs={"autocomplete": "new-password", "minlength": 8})
        help_text = _("8 characters or more, and not one that is widely used.")
        super().__init__(
            **{"label": _("Password"), "max_length": 1024, "strip": False, "widget": widget, "help_text": help_text}
            | kwargs
        )


class GuardedForm(Form):
    """What asks for the password again: somebody else may sit at the browser. Its field is `current`."""

    def __init__(self, *args, request, **kwargs):
        super().__init__(*args, **kwargs)
        self.request = request

    def clean_current(self) -> str:
        user, password = self.request.user, self.cleaned_data["current"]
        try:
            attempt = throttling.LoginAttempt(self.request, user.account_id, user.login)
            if not passwords.is_right(user, password, attempt=attempt):
                self.add_error("current", _("Is wrong"))
        except Throttled as refused:
            self.add_error("current", too_many_attempts(refused))
        return password


def too_many_attempts(refused: Throttled) -> str:
    minutes = int(refused.wait // 60) + 1
    words = ngettext(
        "Too many attempts. Try again in %(minutes)d minute.",
        "Too many attempts. Try again in %(minutes)d minutes.",
        minutes,
    )
    return words % {"minutes": minutes}


def check_login(form: forms.Form, *, email: str, before: str = "") -> None:
    """A login that looks like somebody else's e-mail would stand in that one's way: logins are tried first."""
    login = form.cleaned_data.get("login")
    if login and "@" in login and fold(login) not in (fold(email), fold(before)):
        form.add_error("login", _("Can't have an @, unless it is your own e-mail"))


def check_password_rules(form: forms.Form, field: str, user: User) -> None:
    """Add to `field` what Django's validators say of the password that it holds, with the messages of the interface: Django's
    own are translated by its admin app, which is not installed."""
    password = form.cleaned_data.get(field)
    if password:
        try:
            password_validation.validate_password(password, user)
        except ValidationError as caught:
            for error in caught.error_list:
                form.add_error(field, capfirst(PASSWORD_ERRORS[error.code]))


def languages() -> list[tuple[str, str]]:
    return list(settings.LANGUAGES)


@cache
def _zones() -> list[tuple[str, str]]:
    return [
        (name, name.replace("_", " "))
        for name in sorted(zoneinfo.available_timezones())
        if "/" in name or name == "UTC"
    ]


zones = lazy(_zones, list)


class LongSelect(forms.Select):
    """A select of hundreds of options, which Django would render by a template each."""

    def render(self, name, value, attrs=None, renderer=None) -> SafeString:
        chosen = SafeString(" selected")
        options = ((each, chosen if each == (value or "") else "", label) for each, label in self.choices)
        return format_html(
            "<select{}>{}</select>",
            flatatt(self.build_attrs(self.attrs, {"name": name, **(attrs or {})})),
            format_html_join("", '<option value="{}"{}>{}</option>', options),
        )
