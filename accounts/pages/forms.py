"""The base class, fields and helpers of the forms of all pages."""

import re
import zoneinfo
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib.auth import password_validation
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.forms.utils import flatatt
from django.http import QueryDict
from django.utils.functional import lazy
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts import passwords, throttling
from accounts.api.users import PASSWORD_ERRORS
from accounts.models import SignInCode, User
from accounts.names import has_invisible
from accounts.sign_in_log import Way
from core.db.tenancy import fold
from core.db.text import is_xml_text
from core.db.trimmed import fold_email, is_blank, trim
from core.errors import Throttled
from core.requests import UserRequest


class Form(forms.Form):
    """A form of a page. `core/field.html` renders each field with its label, help text and errors."""

    required_css_class = "required"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        for name, field in self.fields.items():
            if field.required:
                field.error_messages["required"] = _("Can't be blank")
            # An invisible character in a login is an error, as it would be in the password.
            if self.is_bound and isinstance(field, forms.CharField) and field.strip and not isinstance(field, Login):
                self._trim(self.add_prefix(name), is_line=not isinstance(field.widget, forms.Textarea))

    def _trim(self, name: str, *, is_line: bool) -> None:
        """Replace a text without visible characters by an empty one, and trim a text of one line."""
        text = self.data.get(name)
        if not isinstance(text, str) or text.isascii():
            return  # Django removes white space
        trimmed = "" if is_blank(text) else trim(text) if is_line else text
        if trimmed != text:
            self.replace_data(name, trimmed)

    def set_choices(self, name: str, choices: Iterable[tuple[Any, Any]]) -> None:
        cast(forms.ChoiceField, self.fields[name]).choices = list(choices)

    def replace_data(self, name: str, value: Any) -> None:
        """Replace the value that was sent for a field."""
        data = cast(QueryDict, self.data).copy()
        data[name] = value
        self.data = data

    def clean(self) -> dict[str, Any]:
        super().clean()
        values = self.cleaned_data
        for name, value in list(values.items()):
            if isinstance(value, str) and not is_xml_text(value):
                self.add_error(name, _("Has characters that can't be stored"))
        return values


def validate_visible(name: str) -> None:
    if has_invisible(name):
        raise ValidationError(_("Has an invisible character, or one that changes the direction of the text"))


class Email(forms.EmailField):
    default_validators = [*forms.EmailField.default_validators, validate_visible]

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"label": _("E-mail"), "max_length": 255, **kwargs})
        self.widget.attrs.update(autocomplete="email")


class Login(forms.CharField):
    """The login of a new user, or a new login."""

    default_validators = [
        RegexValidator(rf"^{User.LOGIN_PATTERN}\Z", _("Can't have a colon")),
    ]

    def __init__(self, **kwargs: Any) -> None:
        help_text = _("The short name that you can sign in with, as well as with your e-mail.")
        super().__init__(**{"label": _("Login"), "max_length": 255, "help_text": help_text, **kwargs})
        self.widget.attrs.update(autocomplete="username", autocapitalize="none", spellcheck="false")


class CurrentPassword(forms.CharField):
    """The current password of the user. `PasswordConfirmationForm` verifies it."""

    def __init__(self) -> None:
        widget = forms.PasswordInput(attrs={"autocomplete": "current-password"})
        super().__init__(label=_("Current password"), max_length=1024, strip=False, widget=widget)


class Code(forms.CharField):
    """The code of an e-mail. Blanks and hyphens in it are ignored."""

    def __init__(self) -> None:
        attributes = {"autocomplete": "one-time-code", "inputmode": "numeric", "class": "short"}
        super().__init__(label=_("Code from the e-mail"), max_length=20, widget=forms.TextInput(attrs=attributes))

    def clean(self, value: Any) -> Any:
        code = re.sub(r"[\s-]", "", super().clean(value))
        if code and not (code.isascii() and code.isdigit() and len(code) == SignInCode.DIGITS):
            raise ValidationError(_("A code has six digits"))
        return code


class NewPassword(forms.CharField):
    """A new password. The form validates it with `check_password_rules`."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.PasswordInput(attrs={"autocomplete": "new-password", "minlength": 8})
        help_text = _("8 characters or more, and not one that is widely used.")
        defaults: dict[str, Any] = {"label": _("Password"), "widget": widget, "help_text": help_text}
        super().__init__(max_length=1024, strip=False, **{**defaults, **kwargs})


class EndAccess(forms.BooleanField):
    """The offer to end, together with the old password, what works without it (`User.change_password`)."""

    def __init__(self) -> None:
        super().__init__(
            label=_("Also revoke my API tokens and the address of my calendar"),
            help_text=_("Choose this if somebody else may know your password. Your programs then need new ones."),
            required=False,
        )


class PasswordConfirmationForm(Form):
    """A form that asks for the current password, in the field `current`, because somebody else may be using the browser."""

    def __init__(self, *args: Any, request: UserRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request

    def clean_current(self) -> str:
        password: str = self.cleaned_data["current"]
        try:
            if not verify_current_password(self.request, password):
                self.add_error("current", _("Is wrong"))
        except Throttled as refused:
            self.add_error("current", too_many_attempts(refused))
        return password


def verify_current_password(request: UserRequest, password: str) -> bool:
    """Return whether the password is that of the user. Raise Throttled after too many wrong ones."""
    user = request.user
    attempt = throttling.LoginAttempt(request, user.account_id, user.login, Way.CONFIRMATION)
    return passwords.verify(user, password, attempt=attempt)


def too_many_attempts(refused: Throttled) -> str:
    minutes = int(refused.wait // 60) + 1
    message = ngettext(
        "Too many attempts. Try again in %(minutes)d minute.",
        "Too many attempts. Try again in %(minutes)d minutes.",
        minutes,
    )
    return message % {"minutes": minutes}


def check_login(form: forms.Form, *, email: str, current: str = "") -> None:
    """Add an error for a login with an @, unless it is the user's own e-mail or current login.

    Sign-in looks up logins first. So a login equal to another person's e-mail would keep that person from signing in with it.
    """
    login = form.cleaned_data.get("login")
    if login and "@" in login and fold(login) not in (fold(email), fold_email(email), fold(current)):
        form.add_error("login", _("Can't have an @, unless it is your own e-mail"))


def check_password_rules(form: forms.Form, field: str, user: User) -> None:
    """Add the errors of Django's password validators to the field.

    The messages are those of the API, because Django translates its own in the admin app, which is not installed.
    """
    password = form.cleaned_data.get(field)
    if password:
        try:
            password_validation.validate_password(password, user)
        except ValidationError as caught:
            for error in caught.error_list:
                form.add_error(field, capfirst(PASSWORD_ERRORS[str(error.code)]))


def language_choices() -> list[tuple[str, str]]:
    return list(settings.LANGUAGES)


@cache
def _time_zone_choices() -> list[tuple[str, str]]:
    return [
        (name, name.replace("_", " "))
        for name in sorted(zoneinfo.available_timezones())
        if "/" in name or name == "UTC"
    ]


time_zone_choices = lazy(_time_zone_choices, list)


class LongSelect(forms.Select):
    """A select with hundreds of options, whose HTML is created once."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        chosen = format_html('<option value="{}"', value or "")
        options = _options(tuple(self.choices)).replace(f"{chosen}>", f"{chosen} selected>", 1)
        attributes = flatatt(self.build_attrs(self.attrs, {"name": name, **(attrs or {})}))
        return format_html("<select{}>{}</select>", attributes, SafeString(options))


@lru_cache(maxsize=20)
def _options(choices: tuple[tuple[str, str], ...]) -> str:
    return format_html_join("", '<option value="{}">{}</option>', choices)
