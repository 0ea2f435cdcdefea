"""Comparison of two clients or two contacts, field by field, for a merge."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.fields.catalogue import Field, defined_name, fields_of
from core.db.tenancy import fold
from core.errors import FieldError, FieldErrors
from core.rows.declared import FieldType
from crm.resources.models import CRMResource

# The maximum length of two long texts that are joined.
MAX_TEXT_LENGTH = 65_536


class Choice(StrEnum):
    KEPT = "kept"
    MERGED = "merged"
    # The values of both rows, for lists and long texts.
    BOTH = "both"


# Fields with their values, by name.
ChosenValues = dict[str, tuple[Field, object]]
# The fields whose values can be joined.
JOINED = {FieldType.TAGS, FieldType.CHOICES, FieldType.LONG_TEXT}


@dataclass(frozen=True)
class Difference:
    field: Field
    kept: Any
    merged: Any

    @property
    def choices(self) -> list[Choice]:
        is_joined = self.field.type in JOINED and not is_blank(self.kept) and not is_blank(self.merged)
        return [Choice.KEPT, Choice.MERGED, *([Choice.BOTH] if is_joined else [])]

    def default(self, *, prefer: Choice = Choice.KEPT) -> Choice:
        """Return the choice if the user makes none. If both rows have a value that can't be joined, it is `prefer`."""
        if self.field.name == "do_not_contact":
            return Choice.MERGED if self.merged else Choice.KEPT
        if is_blank(self.merged) or is_blank(self.kept):
            return Choice.MERGED if is_blank(self.kept) else Choice.KEPT
        if self.field.name == "consent":
            # A withheld consent outweighs a given one.
            return Choice.KEPT if self.kept is False else Choice.MERGED
        return Choice.BOTH if Choice.BOTH in self.choices else prefer

    def value(self, choice: Choice) -> object:
        """Return the chosen value. Raise FieldError if the field can't have it."""
        value = self._joined() if choice == Choice.BOTH else self.merged if choice == Choice.MERGED else self.kept
        if self.field.required and is_blank(value):
            raise FieldError(self.field.name, _("can't be blank"), "blank")
        return value

    def _joined(self) -> object:
        if self.field.type == FieldType.LONG_TEXT:
            text = f"{self.kept}\n\n{self.merged}"
            if len(text) > MAX_TEXT_LENGTH:
                message = _("is too long if both texts are kept (maximum is {most} characters)")
                raise FieldError(self.field.name, message, "too_long", {"most": MAX_TEXT_LENGTH})
            return text
        kept = [*self.kept]
        known = {fold(str(value)) for value in kept}
        return [*kept, *(value for value in self.merged if fold(str(value)) not in known)]


def is_blank(value: object) -> bool:
    return value is None or value in ("", [])


def is_same(field: Field, first: object, second: object) -> bool:
    if is_blank(first) and is_blank(second):
        return True
    if field.type in (FieldType.TAGS, FieldType.CHOICES) and isinstance(first, list) and isinstance(second, list):
        return {fold(str(value)) for value in first} == {fold(str(value)) for value in second}
    return bool(first == second and isinstance(first, bool) == isinstance(second, bool))


def compared_fields(account: Account, resource: str, rows: Iterable[Any]) -> list[Field]:
    """Return the fields that a merge compares: those that can be edited, and the additional fields of the rows without a definition."""
    fields = [field for field in fields_of(account, resource) if not field.read_only]
    defined = {field.key for field in fields}
    keys = dict.fromkeys(key for row in rows for key in row.additional_fields if key not in defined)
    return fields + [Field(defined_name(key), key, FieldType.TEXT, "custom", undefined_key=key) for key in keys]


def differences(kept: CRMResource, merged: CRMResource, fields: Iterable[Field]) -> list[Difference]:
    found = (Difference(field, field.value_of(kept), field.value_of(merged)) for field in fields)
    return [difference for difference in found if not is_same(difference.field, difference.kept, difference.merged)]


def chosen_values(
    kept: CRMResource, merged: CRMResource, fields: list[Field], choices: Mapping[str, Choice]
) -> ChosenValues:
    """Return the fields that the kept row gets another value for, with the value, by name.

    `choices` are by the name of the field. Other fields have the default choice. Raise FieldErrors for a choice that is not possible.
    """
    values: ChosenValues = {}
    unknown = sorted(choices.keys() - {field.name for field in fields})
    errors = [FieldError(f"fields.{name}", _("is not a field that can be chosen"), "unknown") for name in unknown]
    for difference in differences(kept, merged, fields):
        name = difference.field.name
        choice = choices.get(name, difference.default())
        if choice not in difference.choices:
            # Both values are wanted, but one is blank or the values can't be joined.
            if difference.field.type not in JOINED:
                errors.append(FieldError(f"fields.{name}", _("can't have both values"), "choice"))
                continue
            choice = difference.default()
        try:
            value = difference.value(choice)
        except FieldErrors as caught:
            errors += [error.move_into("fields") for error in caught.errors]
            continue
        if not is_same(difference.field, value, difference.kept):
            values[name] = (difference.field, value)
    if errors:
        raise FieldErrors(errors)
    return values
