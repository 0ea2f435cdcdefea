"""The fields of forms for the names and the password of a user, and the checks of their values."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from accounts.users.models import User
from accounts.users.names import find_password_errors, has_invisible
from core.db.tenancy import fold
from core.rows.trimmed import fold_email


def validate_visible(name: str) -> None:
    if has_invisible(name):
        raise ValidationError(_("Has an invisible character, or one that changes the direction of the text"))


class EmailFormField(forms.EmailField):
    default_validators = [*forms.EmailField.default_validators, validate_visible]

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"label": _("E-mail"), "max_length": 255, **kwargs})
        self.widget.attrs.update(autocomplete="email")


class LoginFormField(forms.CharField):
    """The login of a new user, or a new login. An invisible character in it is an error, as it would be in the password."""

    is_trimmed = False

    default_validators = [RegexValidator(rf"^{User.LOGIN_PATTERN}\Z", _("Can't have a colon"))]

    def __init__(self, **kwargs: Any) -> None:
        help_text = _("The short name that you can sign in with, as well as with your e-mail.")
        super().__init__(**{"label": _("Login"), "max_length": 255, "help_text": help_text, **kwargs})
        self.widget.attrs.update(autocomplete="username", autocapitalize="none", spellcheck="false")


class NewPassword(forms.CharField):
    """A new password. The form validates it with `check_password_rules`."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.PasswordInput(attrs={"autocomplete": "new-password", "minlength": 8})
        help_text = _("8 characters or more, and not one that is widely used.")
        defaults: dict[str, Any] = {"label": _("Password"), "widget": widget, "help_text": help_text}
        super().__init__(max_length=1024, strip=False, **{**defaults, **kwargs})


def check_login(form: forms.Form, *, email: str, current: str = "") -> None:
    """Add an error for a login with an @, unless it is the user's own e-mail or current login.

    Sign-in looks up logins first. So a login equal to another person's e-mail would keep that person from signing in with it.
    """
    login = form.cleaned_data.get("login")
    if login and "@" in login and fold(login) not in (fold(email), fold_email(email), fold(current)):
        form.add_error("login", _("Can't have an @, unless it is your own e-mail"))


def check_password_rules(form: forms.Form, field: str, user: User) -> None:
    """Add an error to the field for each rule that the password breaks."""
    password = form.cleaned_data.get(field)
    if password:
        for error in find_password_errors(password, user):
            form.add_error(field, capfirst(str(error.message)))
