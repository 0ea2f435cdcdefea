"""Fields of resources, which are declared once: on the model.

    nickname = Text(_("Nickname"), group="company", searched="short")

Everything else derives from the declaration: the field of the serializer with its schema, the search, and the field catalogue, which lists,
filters, forms, CSV files, the log of changes and the comparison of a merge read.

The order of the declarations is the order in responses and on pages. A migration writes the field of Django on which the class is based.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.functional import Promise

from core.db.fields import PlainField
from core.rows.trimmed import CurrencyCodeField, TrimmedCharField

MAX_LONG_TEXT_LENGTH = 65_536


class FieldType(StrEnum):
    """How pages show and edit a field: the types that an account can define, and further types of declared fields."""

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
    CATEGORY = "category"
    FORUM = "forum"


class DeclaredField(PlainField):
    """A mixin for a field that people see. It comes before the field of Django on which it is based.

    - `label`: the name for people; `type`: how pages show and edit the value; `group`: the heading under which pages show the field.
    - `in_lists`: True if lists show the field as a column unless the user selects other columns.
    - `searched`: how a query matches the field: `short`, `numbers`, `words` or `long` (`core.search.declaration`). A text field that is not
      searched gives the reason in `not_searched`.
    - `is_required`: True if a new row needs a value. Without it, null means that no value was given.

    A field that is not `editable` is set by the service.
    """

    TYPE = FieldType.TEXT
    # Options of the field of Django.
    OPTIONS: ClassVar[dict[str, Any]] = {}
    changed_defaults = ("null", "blank")
    python_arguments: ClassVar[tuple[str, ...]] = (
        "label",
        "type",
        "group",
        "in_lists",
        "searched",
        "not_searched",
        "is_required",
    )

    def __init__(
        self,
        label: str | Promise,
        *args: Any,
        type: FieldType | None = None,
        group: str = "other",
        in_lists: bool = False,
        searched: str = "",
        not_searched: str | None = None,
        is_required: bool = False,
        **options: Any,
    ) -> None:
        if not is_required and "default" not in options:
            options.setdefault("null", True)
        self.label, self.type, self.group, self.in_lists = label, type or self.TYPE, group, in_lists
        self.searched, self.not_searched, self.is_required = searched, not_searched, is_required
        if "max_length" in self.OPTIONS:
            options.setdefault("blank", not is_required)
        super().__init__(*args, **{**self.OPTIONS, **options})


class Text(DeclaredField, models.CharField):
    """A text of one line."""

    OPTIONS = {"max_length": 255}


class TrimmedText(DeclaredField, TrimmedCharField):
    """A text of one line without blanks at its ends."""

    OPTIONS = {"max_length": 255}


class LongText(Text):
    """A text of several lines."""

    TYPE, OPTIONS = FieldType.LONG_TEXT, {"max_length": MAX_LONG_TEXT_LENGTH}


class CurrencyCode(DeclaredField, CurrencyCodeField):
    TYPE = FieldType.CURRENCY


class Number(DeclaredField, models.DecimalField):
    """A number with at most 14 digits before and 6 after the decimal point."""

    TYPE, OPTIONS = FieldType.NUMBER, {"max_digits": 20, "decimal_places": 6}


class YesOrNo(DeclaredField, models.BooleanField):
    TYPE = FieldType.BOOLEAN


class Day(DeclaredField, models.DateField):
    TYPE = FieldType.DATE


class Moment(DeclaredField, models.DateTimeField):
    TYPE = FieldType.TIME


class TagNames(DeclaredField, ArrayField):
    TYPE = FieldType.TAGS


class RowId(DeclaredField, models.BigIntegerField):
    """The id of a row of the account. `relation` is the related name of the rows, and `filters` are the conditions of those that may be set."""

    python_arguments = (*DeclaredField.python_arguments, "relation", "filters")

    def __init__(
        self,
        label: str | Promise,
        relation: str = "",
        *args: Any,
        filters: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.relation, self.filters = relation, filters or {}
        super().__init__(label, *args, **options)


def declared_columns(model: type[models.Model]) -> tuple[list[DeclaredField], list[DeclaredField]]:
    """Return the declared fields of the class of a model, and those of its bases, each in their order."""
    inherited = [
        column.name
        for base in model.__mro__[1:]
        if isinstance(base, models.base.ModelBase) and hasattr(base, "_meta")
        for column in declared_in(base)
    ]
    columns = {column.name: column for column in declared_in(model)}
    names = list(dict.fromkeys(name for name in inherited if name in columns))
    return [column for name, column in columns.items() if name not in names], [columns[name] for name in names]


def declared_in(model: Any) -> Iterator[DeclaredField]:
    """Yield the declared fields of a model, also those of its bases."""
    return (column for column in model._meta.local_concrete_fields if isinstance(column, DeclaredField))
