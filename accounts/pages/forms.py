"""What the forms of all rooms share: labels, limits, and faults beside the fields."""

import zoneinfo

from django import forms
from django.conf import settings
from django.contrib.auth import password_validation
from django.core.exceptions import ValidationError
from django.utils.functional import lazy
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.tenancy import fold
from accounts.text import is_carriable


class Form(forms.Form):
    """A form of a page. Each field is drawn by `accounts/field.html`, with its label, its help and its faults."""

    required_css_class = "required"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, label_suffix="", **kwargs)
        for field in self.fields.values():
            if field.required:
                field.error_messages["required"] = _("Can't be blank")

    def clean(self):
        values = super().clean()
        for name, value in list(values.items()):
            if isinstance(value, str) and not is_carriable(value):
                self.add_error(name, _("Has characters that can't be stored"))
        return values


class Email(forms.EmailField):
    def __init__(self, **kwargs):
        super().__init__(**{"label": _("E-mail"), "max_length": 255, **kwargs})
        self.widget.attrs.update(autocomplete="email")


class NewPassword(forms.CharField):
    """A password that is being chosen. The rules are Django's validators; `clean_new_password` of the form applies them."""

    def __init__(self, **kwargs):
        widget = forms.PasswordInput(attrs={"autocomplete": "new-password", "minlength": 8})
        help_text = _("8 characters or more, and not one that is widely used.")
        super().__init__(
            **{"label": _("Password"), "max_length": 1024, "strip": False, "widget": widget, "help_text": help_text}
            | kwargs
        )


def check_password_rules(form: forms.Form, field: str, user: User) -> None:
    """Add to `field` what Django's validators say of the password that it holds."""
    password = form.cleaned_data.get(field)
    if password:
        try:
            password_validation.validate_password(password, user)
        except ValidationError as error:
            form.add_error(field, error)


def check_not_taken(form: forms.Form, account, names: tuple[str, ...], *, but: int | None = None) -> None:
    """Logins and e-mails are unique within an account, without regard to case."""
    for name in names:
        value = form.cleaned_data.get(name)
        if value and account.users.filter(**{f"{name}_key": fold(value)}).exclude(id=but).exists():
            form.add_error(name, _("Is already taken"))


def languages() -> list[tuple[str, str]]:
    return list(settings.LANGUAGES)


def _zones() -> list[tuple[str, str]]:
    return [
        (name, name.replace("_", " "))
        for name in sorted(zoneinfo.available_timezones())
        if "/" in name or name == "UTC"
    ]


zones = lazy(_zones, list)
