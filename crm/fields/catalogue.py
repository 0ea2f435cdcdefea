"""The field catalogue: the fields of clients, contacts and deals, as people see them.

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
- `crm.resources.api.writing.write_row` writes values by these names, with the same validation as the JSON API.

A new field of a model has its line here. `tests/crm/fields/test_fields.py` names a field that is missing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING, Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from crm.fields.models import FieldDefinition, definitions_of

if TYPE_CHECKING:
    from accounts.account.models import Account


class FieldType(StrEnum):
    """The type of a field: the types that an account can define, and further types of built-in fields."""

    TEXT = "text"
    LONG_TEXT = "long_text"
    NUMBER = "number"
    MONEY = "money"
    DATE = "date"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    CHOICES = "choices"
    LINK = "link"
    EMAIL = "email"
    PHONE = "phone"
    TIME = "time"
    CURRENCY = "currency"
    USER = "user"
    STATUS = "status"
    TAGS = "tags"
    CLIENT = "client"
    CONTACT = "contact"
    DEAL = "deal"


# The headings of the groups, in the order of a page.
GROUPS: dict[str, str | Promise] = {
    "task": _("Task"),
    "contact": _("Contact data"),
    "deal": _("Deal"),
    "address": _("Address"),
    "company": _("Company"),
    "payment": _("Payment"),
    "other": _("Other"),
    "custom": _("Custom fields"),
}


@dataclass(frozen=True)
class Field:
    """A field of clients, contacts or deals."""

    name: str
    label: str | Promise
    type: FieldType
    group: str = "other"
    required: bool = False
    # The service sets the value.
    read_only: bool = False
    # A list shows the field as a column unless the user selects other columns.
    in_lists: bool = False
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

    def value_of(self, row: Any) -> Any:
        """Return the value of a row, which has the attribute `column`. A value that does not fit the type is returned as it is stored."""
        value = getattr(row, self.column)
        return self.read_stored(value.get(self.key)) if self.key else value

    def read_stored(self, value: Any) -> Any:
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


def _field(
    name: str,
    label: str | Promise,
    type: FieldType = FieldType.TEXT,
    group: str = "other",
    *,
    required: bool = False,
    read_only: bool = False,
    in_lists: bool = False,
) -> Field:
    return Field(name, label, type, group, required, read_only, in_lists)


_CREATED = (
    _field("creator_id", _("Created by"), FieldType.USER, read_only=True),
    _field("created_at", _("Created"), FieldType.TIME, read_only=True),
    _field("updater_id", _("Changed by"), FieldType.USER, read_only=True),
    _field("updated_at", _("Changed"), FieldType.TIME, read_only=True),
)

_CONSENT = (
    _field("consent", _("Agrees to be contacted"), FieldType.BOOLEAN),
    _field("consent_at", _("Answer recorded"), FieldType.TIME, read_only=True),
    _field("consent_by_id", _("Answer recorded by"), FieldType.USER, read_only=True),
    _field("do_not_contact", _("Do not contact"), FieldType.BOOLEAN),
    _field("do_not_contact_at", _("“Do not contact” changed"), FieldType.TIME, read_only=True),
    _field("do_not_contact_by_id", _("“Do not contact” changed by"), FieldType.USER, read_only=True),
)

BUILTIN: dict[str, tuple[Field, ...]] = {
    "client": (
        _field("name", _("Name"), group="contact", required=True, in_lists=True),
        _field("first_name", _("First name"), group="contact"),
        _field("last_name", _("Last name"), group="contact"),
        _field("email", _("E-mail"), FieldType.EMAIL, "contact", in_lists=True),
        _field("phone", _("Telephone"), FieldType.PHONE, "contact", in_lists=True),
        _field("mobile_phone", _("Mobile telephone"), FieldType.PHONE, "contact"),
        _field("fax", _("Fax"), FieldType.PHONE, "contact"),
        _field("www", _("Website"), FieldType.LINK, "contact"),
        _field("contact_id", _("Main contact"), FieldType.CONTACT, "contact"),
        _field("street", _("Street"), group="address"),
        _field("street_no", _("House number"), group="address"),
        _field("post_code", _("Postal code"), group="address"),
        _field("city", _("City"), group="address", in_lists=True),
        _field("province", _("Province"), group="address"),
        _field("country", _("Country"), group="address"),
        _field("delivery_address", _("Delivery address"), FieldType.LONG_TEXT, "address"),
        _field("use_delivery_address", _("Uses the delivery address"), FieldType.BOOLEAN, "address"),
        _field("company", _("Is a company"), FieldType.BOOLEAN, "company"),
        _field("shortcut", _("Short name"), group="company"),
        _field("kind", pgettext_lazy("of a client", "Kind"), group="company"),
        _field("tax_no", _("Tax number"), group="company"),
        _field("register_number", _("Register number"), group="company"),
        _field("bank", _("Bank"), group="payment"),
        _field("bank_account", _("Bank account"), group="payment"),
        _field("discount", _("Discount"), FieldType.NUMBER, "payment"),
        _field("status_id", _("Status"), FieldType.STATUS, in_lists=True),
        _field("responsible_id", _("Responsible"), FieldType.USER, in_lists=True),
        _field("tags", _("Tags"), FieldType.TAGS),
        _field("note", _("Note"), FieldType.LONG_TEXT),
        _field("description", _("Description"), FieldType.LONG_TEXT),
        _field("url", _("Address in another system"), FieldType.LINK),
        _field("origin", _("Origin")),
        *_CONSENT,
        *_CREATED,
    ),
    "contact": (
        _field("name", _("Name"), group="contact", required=True, in_lists=True),
        _field("first_name", _("First name"), group="contact"),
        _field("last_name", _("Last name"), group="contact"),
        _field("email", _("E-mail"), FieldType.EMAIL, "contact", in_lists=True),
        _field("phone", _("Telephone"), FieldType.PHONE, "contact", in_lists=True),
        _field("mobile_phone", _("Mobile telephone"), FieldType.PHONE, "contact"),
        _field("client_id", _("Client"), FieldType.CLIENT, "company", in_lists=True),
        _field("position", pgettext_lazy("in a company", "Position"), group="company", in_lists=True),
        _field("responsible_id", _("Responsible"), FieldType.USER, in_lists=True),
        _field("tags", _("Tags"), FieldType.TAGS),
        _field("note", _("Note"), FieldType.LONG_TEXT),
        _field("description", _("Description"), FieldType.LONG_TEXT),
        *_CONSENT,
        *_CREATED,
    ),
    "deal": (
        _field("name", _("Name"), group="deal", required=True, in_lists=True),
        _field("client_id", _("Client"), FieldType.CLIENT, "deal", in_lists=True),
        _field("contact_id", _("Contact"), FieldType.CONTACT, "deal"),
        _field("price", _("Amount"), FieldType.MONEY, "deal", in_lists=True),
        _field("currency", _("Currency"), FieldType.CURRENCY, "deal"),
        _field("status_id", _("Status"), FieldType.STATUS, "deal", in_lists=True),
        _field("expected_close_date", _("Expected close"), FieldType.DATE, "deal", in_lists=True),
        _field("responsible_id", _("Responsible"), FieldType.USER, "deal", in_lists=True),
        _field("stage_entered_at", _("In this status since"), FieldType.TIME, "deal", read_only=True),
        _field("closed_at", pgettext_lazy("of a deal", "Closed"), FieldType.TIME, "deal", read_only=True),
        _field("won_reason", _("Reason for winning"), group="deal"),
        _field("lost_reason", _("Reason for losing"), group="deal"),
        _field("tags", _("Tags"), FieldType.TAGS),
        _field("description", _("Description"), FieldType.LONG_TEXT),
        _field("url", _("Address in another system"), FieldType.LINK),
        _field("origin", _("Origin")),
        *_CREATED,
    ),
}

# The fields with the reasons for winning and losing deals, of which the account offers some.
REASON_NAMES = frozenset({"won_reason", "lost_reason"})


def builtin_fields(resource: str) -> tuple[Field, ...]:
    """Return the built-in fields of `client`, `contact` or `deal`, in order."""
    return BUILTIN[resource]


def defined_field(definition: FieldDefinition) -> Field:
    """Return the field of a definition."""
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
    return [*BUILTIN[resource], *map(defined_field, definitions_of(account, resource))]


def grouped(fields: Iterable[Field]) -> Iterator[tuple[str | Promise, list[Field]]]:
    """Return the headings of the groups that occur, in the order of `GROUPS`, each with its fields."""
    order = list(GROUPS)
    for group, members in groupby(
        sorted(fields, key=lambda field: order.index(field.group)), key=lambda field: field.group
    ):
        yield GROUPS[group], list(members)
