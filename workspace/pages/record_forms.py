"""Forms whose fields come from the field catalogue (`crm.fields`)."""

from collections.abc import Callable, Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.models import Account
from accounts.pages.forms import Form
from accounts.roles import ASSIGNABLE
from accounts.templatetags.statuses import status_name
from core.api.fields import MAX_NAME_LENGTH, MAX_TEXT_LENGTH
from crm.fields import Field, FieldType

EMPTY = ("", "—")


def user_choices(account: Account) -> list[tuple[Any, Any]]:
    """Return the users who can be responsible for a row."""
    users = account.users.filter(**ASSIGNABLE).order_by("name", "login").values_list("id", "name", "login")
    return [EMPTY, *((id, name or login) for id, name, login in users)]


def status_choices(account: Account, kind: str) -> list[tuple[Any, Any]]:
    return [EMPTY, *((status.id, status_name(status)) for status in account.statuses_of_kind(kind))]


def _text(field: Field, account: Account, resource: str) -> forms.Field:
    return forms.CharField(max_length=MAX_NAME_LENGTH if not field.definition else MAX_TEXT_LENGTH)


def _with_type(type: str, **attrs: str) -> Callable[[Field, Account, str], forms.Field]:
    """Return a function that makes a text field whose input has this type. The model validates the value."""

    def make(field: Field, account: Account, resource: str) -> forms.Field:
        return forms.CharField(max_length=2000, widget=forms.TextInput(attrs={"type": type, **attrs}))

    return make


MAKERS: dict[FieldType, Callable[[Field, Account, str], forms.Field]] = {
    FieldType.TEXT: _text,
    FieldType.LONG_TEXT: lambda field, account, resource: forms.CharField(
        max_length=MAX_TEXT_LENGTH, widget=forms.Textarea(attrs={"rows": 4})
    ),
    FieldType.NUMBER: _with_type("text", inputmode="decimal", autocomplete="off"),
    FieldType.MONEY: _with_type("text", inputmode="decimal", autocomplete="off"),
    FieldType.DATE: _with_type("date"),
    FieldType.BOOLEAN: lambda field, account, resource: forms.ChoiceField(
        choices=[EMPTY, ("true", _("Yes")), ("false", _("No"))]
    ),
    FieldType.CHOICE: lambda field, account, resource: forms.ChoiceField(
        choices=[EMPTY, *((choice, choice) for choice in field.choices)]
    ),
    FieldType.CHOICES: lambda field, account, resource: forms.MultipleChoiceField(
        choices=[(choice, choice) for choice in field.choices], widget=forms.CheckboxSelectMultiple
    ),
    FieldType.LINK: _with_type("url", autocomplete="off", spellcheck="false"),
    FieldType.EMAIL: _with_type("email", autocomplete="off", spellcheck="false"),
    FieldType.PHONE: _with_type("tel", autocomplete="off"),
    FieldType.CURRENCY: _with_type("text", autocapitalize="characters", spellcheck="false", **{"class": "short"}),
    FieldType.TAGS: lambda field, account, resource: forms.CharField(
        max_length=MAX_TEXT_LENGTH, help_text=_("Separate tags by commas.")
    ),
    FieldType.USER: lambda field, account, resource: forms.ChoiceField(choices=lambda: user_choices(account)),
    FieldType.STATUS: lambda field, account, resource: forms.ChoiceField(
        choices=lambda: status_choices(account, resource)
    ),
}


def form_field(field: Field, account: Account, resource: str) -> forms.Field:
    """Return the form field for a field of the catalogue. It raises KeyError for a client or a contact, which a search selects.

    The form field only limits the length and the choices. `crm.api.writing.write_row` validates the value.
    """
    made = MAKERS[field.type](field, account, resource)
    made.label, made.required = str(field.label), field.required
    return made


class RecordForm(Form):
    """A form of some fields of a client, contact or deal."""

    def __init__(self, *args: Any, fields: Iterable[Field], account: Account, resource: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in fields:
            made = form_field(field, account, resource)
            made.error_messages["required"] = _("Can't be blank")
            self.fields[field.name] = made
