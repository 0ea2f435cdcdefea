"""The field catalogue: the fields of clients, contacts and deals, and the fields that an account defines, as people see them.

Lists (columns, filters), the pages of records (groups, editing in place), quick create, the comparison of a merge, and CSV files read
the catalogue, so that each field has the same name, label and type everywhere:

    for group, fields in grouped(fields_of(account, "client")):
        for field in fields:
            field.label, field.value_of(client)

- `fields_of(account, resource)` returns the built-in fields and then the fields that the account defines, in order. It takes one
  statement, and none if the account defines no fields for the resource. `builtin_fields(resource)` needs no account.
- `Field.name` is the name in URLs, forms and CSV files: the column, such as `email`, or `additional_fields[size]` for a defined field.
- `Field.type` says how to show and edit the value (`FieldType`). For the types `user`, `status`, `client`, `contact` and `deal`, the value
  is an id. For `tags`, and for `choices`, it is a list of texts. For `date` it is a date, for `time` a datetime, for `number` and
  `money` a number.
- `crm.resources.api.views.write_row` writes values by these names, with the same validation as the JSON API.

The built-in fields are those that the models declare (`core.rows.declared`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.fields.models import FieldDefinition, definitions_of
from core.registry import registry
from core.rows.declared import DeclaredField, FieldType, declared_columns

if TYPE_CHECKING:
    from accounts.account.models import Account


# The headings of the groups, in the order of a page.
GROUPS: dict[str, str | Promise] = {
    "task": _("Task"),
    "suggestion": _("Suggestion"),
    "contact": _("Contact data"),
    "deal": _("Deal"),
    "address": _("Address"),
    "company": _("Company"),
    "payment": _("Payment"),
    "other": _("Other"),
    "description": _("Description"),
    "custom": _("Custom fields"),
}


@dataclass(frozen=True)
class Field:
    """A field of clients, contacts, deals or other rows in lists."""

    name: str
    label: str | Promise
    type: FieldType
    group: str = "other"
    required: bool = False
    # The service sets the value.
    read_only: bool = False
    # A list shows the field as a column unless the user selects other columns.
    in_lists: bool = False
    # Lists filter by the field, but don't show it.
    only_filter: bool = False
    # The definition of a field that the account defines.
    definition: FieldDefinition | None = None
    # The key of an additional field without a definition.
    undefined_key: str = ""

    @property
    def choices(self) -> Sequence[str]:
        return self.definition.choices if self.definition else ()

    @property
    def is_amount(self) -> bool:
        return self.type in (FieldType.NUMBER, FieldType.MONEY)

    @property
    def column(self) -> str:
        """The column that holds the value: for a defined field, that of all additional fields."""
        return "additional_fields" if self.key else self.name

    @property
    def key(self) -> str:
        """The key in `additional_fields`; empty for a built-in field."""
        return self.definition.key if self.definition else self.undefined_key

    def value_of(self, row: object) -> Any:
        """Return the value of a row, which has the attribute `column`. A value that does not fit the type is returned as it is stored."""
        value = getattr(row, self.column)
        return self.read_stored(value.get(self.key)) if self.key else value

    def read_stored(self, value: object) -> object:
        """Return the value for people and forms, from the value that is stored in `additional_fields`."""
        if self.type == FieldType.DATE and isinstance(value, str):
            try:
                return date.fromisoformat(value)
            except ValueError:
                return value
        if self.type == FieldType.CHOICES and isinstance(value, str):
            return [value]
        return value


def defined_name(key: str) -> str:
    """Return the name of the field that is defined with a key."""
    return f"additional_fields[{key}]"


# The fields with the reasons for winning and losing deals, of which the account offers some.
REASON_NAMES = frozenset({"won_reason", "lost_reason"})


@cache
def builtin_fields(resource: str) -> tuple[Field, ...]:
    """Return the fields that the model of a resource declares, in order: first its own, then those of its bases."""
    own, inherited = declared_columns(registry[resource].model)
    return tuple(map(declared_field, (*own, *inherited)))


def declared_field(column: DeclaredField) -> Field:
    return Field(
        column.name,
        column.label,
        column.type,
        column.group,
        required=column.is_required,
        read_only=not column.editable,
        in_lists=column.in_lists,
    )


def defined_field(definition: FieldDefinition) -> Field:
    return Field(
        defined_name(definition.key),
        definition.label,
        FieldType(definition.type),
        "custom",
        required=definition.required,
        in_lists=definition.in_lists,
        definition=definition,
    )


def fields_of(account: "Account", resource: str) -> list[Field]:
    """Return the built-in fields and the fields that the account defines, in order."""
    return [*builtin_fields(resource), *defined_fields(account, resource)]


def defined_fields(account: "Account", resource: str) -> list[Field]:
    """Return the fields that the account defines, in order. It takes at most one statement, as `definitions_of`."""
    return [defined_field(definition) for definition in definitions_of(account, resource)]


def grouped(fields: Iterable[Field]) -> Iterator[tuple[str | Promise, list[Field]]]:
    """Return the headings of the groups that occur, in the order of `GROUPS`, each with its fields."""
    order = list(GROUPS)
    for group, members in groupby(
        sorted(fields, key=lambda field: order.index(field.group)), key=lambda field: field.group
    ):
        yield GROUPS[group], list(members)
