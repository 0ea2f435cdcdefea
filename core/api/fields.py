"""Serializer fields of both APIs: the values that they accept, and the error messages for others.

A message continues the field's name ("Title can't be blank"). A text field also accepts numbers, and a number field accepts numeric
texts. A blank text for a number, a date or an id means null. A list or an object instead of a single value is rejected.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NoReturn, TypedDict, Unpack

from django.db import connection
from django.db.models import Model, QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework.fields import Field, empty

from core.db.tenancy import fold
from core.db.text import is_xml_text
from core.errors import FieldError
from core.http.times import to_day, to_time
from core.numbers import CURRENCIES, to_decimal
from core.rows.access import Access
from core.rows.trash import LimitedQuerySet, TrashedId
from core.rows.trimmed import CurrencyCodeField, is_blank, trim
from core.tenants import TenantAccount

MISSING = _("can't be blank")
MAX_NAME_LENGTH = 255
MAX_TEXT_LENGTH = 65_536
MAX_INTEGER = 2**63 - 1
# A JSON number with this many digits may be a binary float, which has at most 17. Its noise is less than one part in `MAX_FLOAT_NOISE`.
MIN_FLOAT_DIGITS, MAX_FLOAT_DIGITS, MAX_FLOAT_NOISE = 15, 20, 10**12


class FieldOptions(TypedDict, total=False):
    required: bool
    read_only: bool
    write_only: bool
    allow_null: bool
    # The name of the field that it follows in a response, if its place is not that of its declaration.
    after: str


class WireField(Field[Any, Any, object, object]):
    """The base of all fields. A field is optional unless it is `required`. An optional field accepts null."""

    # The serializer sets it when it binds the field.
    field_name: str

    default_error_messages = {"required": MISSING, "null": MISSING, "scalar": _("must be a single value")}

    def __init__(self, **kwargs: Unpack[FieldOptions]) -> None:
        self.after = kwargs.pop("after", "")
        required = kwargs.setdefault("required", False)
        if not kwargs.get("read_only"):
            kwargs.setdefault("allow_null", not required)
        else:
            kwargs.pop("required")
        super().__init__(**kwargs)  # type: ignore[misc]  # `after` is removed

    def to_representation(self, value: object) -> object:
        return value

    # Positional only, because a message may have a parameter of any name.
    def fail(self, code: str, /, **params: object) -> NoReturn:  # type: ignore[override]
        """Raise FieldError with the message of a code. The serializer adds the name of the field."""
        raise FieldError("", self.error_messages[code], code, params)


def to_object(data: object) -> object:
    """Return an empty object for what PHP and forms send in its place: an empty list, or a blank text. Return other data unchanged."""
    items = data if isinstance(data, list) else [data]
    return {} if all(isinstance(item, str) and not item.strip() for item in items) else data


def to_list(data: object) -> object:
    """Return the list that PHP sent as an object with integer keys, or an empty list for a blank text. Return other data unchanged."""
    if isinstance(data, dict) and all(_INTEGER_KEY.fullmatch(key) for key in data):
        return list(data.values())
    return [] if isinstance(data, str) and not data.strip() else data


_INTEGER_KEY = re.compile(r"\d{1,20}", re.ASCII)


class ScalarField(WireField):
    """The base of fields that accept a single value."""

    blank_is_null = True

    def run_validation(self, data: object = empty) -> Any:
        if isinstance(data, str) and self.blank_is_null and not data.strip():
            data = None
        if isinstance(data, dict | list):
            self.fail("scalar")
        return super().run_validation(data)


class TextField(ScalarField):
    """A text of at most `max_length` characters that XML allows. A required text must not be blank, unless `blank` is true."""

    blank_is_null = False
    default_error_messages = {
        "characters": _("has a character that can't be used (a control character or half of a surrogate pair)"),
        "too_long": _("is too long (maximum is {most} characters)"),
        "boolean": _("must be a text"),
        "form": _("is not valid"),
    }

    def __init__(
        self,
        *,
        max_length: int = MAX_NAME_LENGTH,
        blank: bool | None = None,
        pattern: str | None = None,
        **kwargs: Unpack[FieldOptions],
    ) -> None:
        super().__init__(**kwargs)
        self.max_length = max_length
        # The function of the column that normalizes its texts. The serializer sets it.
        self.normalize: Callable[[str], str] | None = None
        self.blank = not kwargs.get("required") if blank is None else blank
        self.pattern = pattern

    def to_internal_value(self, data: object) -> str | None:
        if isinstance(data, bool):
            self.fail("boolean")
        text = data if isinstance(data, str) else str(data)
        if not is_xml_text(text):
            self.fail("characters")
        if self.normalize is not None:
            text = self.normalize(text)
        if not self.blank and is_blank(text):
            self.fail("null")
        if len(text) > self.max_length:
            self.fail("too_long", most=self.max_length)
        if self.pattern and not re.fullmatch(self.pattern, text):
            self.fail("form")
        return text


def long_text_field(**kwargs: Unpack[FieldOptions]) -> TextField:
    """Return a text field for contents and descriptions."""
    return TextField(max_length=MAX_TEXT_LENGTH, **kwargs)


class EmailField(TextField):
    """The e-mail address of a user. Other resources accept any text as an e-mail address."""

    default_error_messages = {"form": _("is not an e-mail address")}

    def __init__(self, **kwargs: Unpack[FieldOptions]) -> None:
        super().__init__(pattern=r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)*", **kwargs)


class ChoiceField(ScalarField):
    default_error_messages = {"choice": _("is not one of {choices}")}

    def __init__(self, choices: Iterable[str], **kwargs: Unpack[FieldOptions]) -> None:
        super().__init__(**kwargs)
        self.choices = list(choices)

    def to_internal_value(self, data: object) -> str:
        if data not in self.choices:
            self.fail("choice", choices=", ".join(self.choices))
        return str(data)


class CurrencyField(ScalarField):
    """The code of a currency. The current value of the row is also valid, because rows may have older values."""

    default_error_messages = {"currency": _("is not a code of ISO 4217, such as EUR")}

    def to_internal_value(self, data: object) -> str:
        current = getattr(self.parent.instance, self.field_name, None)
        code = CurrencyCodeField.normalize(str(data))
        if code not in CURRENCIES and data != current:
            self.fail("currency")
        return code if code in CURRENCIES else str(data)


class IntegerField(ScalarField):
    default_error_messages = {"number": _("is not a whole number"), "range": _("must be between {low} and {high}")}

    def __init__(
        self, *, min_value: int = -MAX_INTEGER, max_value: int = MAX_INTEGER, **kwargs: Unpack[FieldOptions]
    ) -> None:
        super().__init__(**kwargs)
        self.min_value, self.max_value = min_value, max_value

    def to_internal_value(self, data: object) -> int:
        if isinstance(data, bool):
            self.fail("number")
        number = to_integral(data)
        if number is None:
            self.fail("number")
        if not self.min_value <= number <= self.max_value:
            self.fail("range", low=self.min_value, high=self.max_value)
        return int(number)


class DecimalField(ScalarField):
    """An exact decimal number of at most 14 digits before and 6 digits after the point."""

    MAX_WHOLE_DIGITS, MAX_DECIMAL_PLACES = 14, 6
    default_error_messages = {
        "number": _("is not a number"),
        "range": _("must have at most {most} digits before the decimal point"),
        "places": _("must have at most {most} decimal places"),
    }

    def to_internal_value(self, data: object) -> Decimal:
        number = None if isinstance(data, bool) else to_decimal(data)
        if number is None:
            self.fail("number")
        if isinstance(data, Decimal):
            number = remove_float_noise(number, self.MAX_DECIMAL_PLACES)
        if number and number.adjusted() >= self.MAX_WHOLE_DIGITS:
            self.fail("range", most=self.MAX_WHOLE_DIGITS)
        if not self.has_places(number):
            self.fail("places", most=self.MAX_DECIMAL_PLACES)
        # Adding 0 turns -0 into 0.
        return round(number, self.MAX_DECIMAL_PLACES) + 0

    def has_places(self, number: Decimal) -> bool:
        """Return whether a number within the range has no more decimal places than allowed."""
        if number and number.adjusted() < -self.MAX_DECIMAL_PLACES:
            return False
        return number == round(number, self.MAX_DECIMAL_PLACES)


def to_integral(data: object) -> Decimal | None:
    """Return a whole number, or a text with a whole number, as a decimal. Return None for any other data."""
    number = to_decimal(data)
    # The exponent is checked before the conversion: 1e999999999 has a billion digits.
    if number is None or number.adjusted() > 20:
        return None
    if isinstance(data, Decimal):
        number = remove_float_noise(number, 0)
    return number if number == number.to_integral_value() else None


def remove_float_noise(number: Decimal, places: int) -> Decimal:
    """Return a JSON number rounded to the decimal places if it is as long as a binary float, and the rounding hardly changes it.

    Programs that compute with floats send 149.90000000000001 for 149.9.
    """
    if len(number.as_tuple().digits) < MIN_FLOAT_DIGITS or number.adjusted() > MAX_FLOAT_DIGITS:
        return number
    rounded = round(number, places)
    return rounded if abs(rounded - number) * MAX_FLOAT_NOISE < abs(number) else number


class BooleanField(ScalarField):
    """A boolean, or one of the usual words for true and false."""

    default_error_messages = {"boolean": _("is not true or false")}

    WORDS = {"true": True, "1": True, "yes": True, "on": True, "t": True, "false": False, "0": False, "no": False}
    WORDS |= {"off": False, "f": False}

    def to_internal_value(self, data: object) -> bool:
        if isinstance(data, bool):
            return data
        # In JSON, 1 and 1.0 are the same number.
        text = str(int(data)) if isinstance(data, Decimal) and data in (0, 1) else str(data)
        value = self.WORDS.get(text.strip().lower())
        if value is None:
            self.fail("boolean")
        return value


class DateTimeField(ScalarField):
    """A time or a date (`core.http.times`). Without an offset, it is in the time zone of the account."""

    default_error_messages = {"time": _("is not a time (ISO 8601, such as 2009-01-26T18:06:53+01:00)")}

    def to_internal_value(self, data: object) -> datetime:
        moment = to_time(data, self.context["account"].zone)
        if moment is None:
            self.fail("time")
        return moment


class DateField(ScalarField):
    """A date, or the date of a time."""

    default_error_messages = {"date": _("is not a date (ISO 8601, such as 2009-01-26)")}

    def to_internal_value(self, data: object) -> date:
        day = to_day(data, self.context["account"].zone)
        if day is None:
            self.fail("date")
        return day


def lock_ids(rows: QuerySet[Model], lock: str = "SHARE") -> list[int]:
    """Lock rows (SELECT … FOR SHARE) and return their ids, each a `TrashedId` if the row is in the trash.

    Until the end of the transaction, no other transaction can move the rows to the trash, restore or erase them.
    """
    sql, parameters = rows.order_by("id").values_list("id", "trashed_at").query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(f"{sql} FOR {lock}", parameters)
        return [id if trashed_at is None else TrashedId(id) for id, trashed_at in cursor.fetchall()]


def to_id(data: object) -> int | None:
    """Return the id that a whole number, or a text with a whole number, represents. Return None for any other data."""
    number = None if data is None or isinstance(data, bool | list | dict) else to_integral(data)
    return None if number is None else int(number)


class ListField(WireField):
    """The base of fields that accept a list. Null is an empty list."""

    def run_validation(self, data: object = empty) -> Any:
        return super().run_validation([] if data is None else data)


class ReferenceMixin(WireField):
    """A mixin for a field that refers to rows of the same account by their ids.

    The rows are looked up through the account. Rows that can be moved to the trash are locked until the end of the transaction.
    A bulk create looks up the ids of all of its items at once, and passes the existing ids by field as `existing_ids` in the context.
    """

    # The related name of the rows on the account, and the filters that the rows have to pass.
    relation: str
    filters: Mapping[str, object]
    lock = "SHARE"

    def find_ids(self, ids: list[int]) -> Mapping[int, int]:
        """Return a mapping of the existing ids to themselves, or to a `TrashedId` for a row in the trash."""
        existing_ids: Mapping[str | None, Mapping[int, int]] | None = self.context.get("existing_ids")
        if existing_ids is not None:
            return existing_ids[self.field_name]
        return self.look_up(self.context["account"], ids, self.context.get("access"))

    def look_up(self, account: TenantAccount, ids: Collection[int], access: Access | None) -> dict[int, int]:
        """Return the same as `find_ids`, but always by a query. Rows of which users access only a part need the access."""
        # PostgreSQL raises an error for ids that do not fit into the column.
        ids = [id for id in ids if 0 < id <= MAX_INTEGER]
        if not ids:
            return {}
        rows = getattr(account, self.relation).filter(id__in=ids, **self.filters)
        if isinstance(rows, LimitedQuerySet):
            if access is None:
                raise TypeError(f"the context of the field {self.field_name} needs the access of the user")
            rows = rows.limited_to(access)
        return {
            id: id for id in (lock_ids(rows, self.lock) if hasattr(rows, "live") else rows.values_list("id", flat=True))
        }

    @staticmethod
    def ids_in(data: object) -> set[int]:
        """Return the ids in the data of the field. The data may be invalid."""
        items = to_list(data)
        return {id for item in (items if isinstance(items, list) else [items]) if (id := to_id(item)) is not None}


class RelatedField(ReferenceMixin, IntegerField):
    """The id of a row. The current value is valid even if it does not pass the filters, such as a user who has left the team."""

    default_error_messages = {"missing": _("can't be found"), "number": _("is not an id"), "range": _("can't be found")}

    def __init__(self, relation: str, *, after: str = "", **filters: object) -> None:
        self.relation = relation
        self.filters = filters
        super().__init__(min_value=1, after=after)

    def to_internal_value(self, data: object) -> int:
        number = super().to_internal_value(data)
        # The row of the current value exists, because links to a row in the trash are null.
        if number == getattr(self.parent.instance, self.field_name, None):
            return number
        existing = self.find_ids([number])
        if number not in existing:
            self.fail("missing")
        return existing[number]


class RelatedListField(ReferenceMixin, ListField):
    """A list of ids without duplicates. Blank items are ignored, because a form sends a blank item for an empty list."""

    default_error_messages = {
        "list": _("must be a list of ids"),
        "too_many": _("has too many ids (maximum is {most})"),
        "missing": _("{ids} can't be found"),
    }
    MAX_IDS = 1000

    def __init__(self, relation: str, **kwargs: Unpack[FieldOptions]) -> None:
        self.relation = relation
        self.filters = {}
        super().__init__(**kwargs)

    def to_internal_value(self, data: object) -> list[int]:
        items = to_list(data)
        if not isinstance(items, list):
            self.fail("list")
        items = [item for item in items if not isinstance(item, str) or item.strip()]
        if len(items) > self.MAX_IDS:
            self.fail("too_many", most=self.MAX_IDS)
        item_ids = [to_id(item) for item in items]
        ids = list(dict.fromkeys(id for id in item_ids if id is not None))
        if None in item_ids:
            self.fail("list")
        existing = self.find_ids(ids)
        if missing_ids := [number for number in ids if number not in existing]:
            self.fail("missing", ids=", ".join(map(str, missing_ids[:10])))
        return [existing[number] for number in ids]


class TextListField(ListField):
    """A list of texts without duplicates. Blank texts are ignored."""

    default_error_messages = {
        "list": _("must be a list of texts"),
        "too_many": _("are too many (maximum is {most})"),
        "too_long": _("has a text that is too long (maximum is {most} characters)"),
        "characters": TextField.default_error_messages["characters"],
    }

    def __init__(self, *, max_items: int, **kwargs: Unpack[FieldOptions]) -> None:
        self.max_items = max_items
        super().__init__(**kwargs)

    def to_internal_value(self, data: object) -> list[str]:
        items = to_list(data)
        if not isinstance(items, list) or any(isinstance(item, bool | list | dict) for item in items):
            self.fail("list")
        texts = list(dict.fromkeys(trim(str(item)) for item in items if item is not None and not is_blank(str(item))))
        if len(items) > self.max_items:
            self.fail("too_many", most=self.max_items)
        if any(len(text) > MAX_NAME_LENGTH for text in texts):
            self.fail("too_long", most=MAX_NAME_LENGTH)
        if not all(map(is_xml_text, texts)):
            self.fail("characters")
        return texts


class TagsField(ListField):
    """Names of tags, as a list or as one comma-separated text."""

    MAX_TAGS, MAX_TAG_LENGTH = 100, 64
    default_error_messages = {
        "list": _("must be a list of names, or one text with commas"),
        "too_many": _("are too many (maximum is {most})"),
        "too_long": _("has a name that is too long (maximum is {most} characters)"),
        "characters": TextField.default_error_messages["characters"],
        "comma": _("has a name with a comma"),
    }

    def to_internal_value(self, data: object) -> list[str]:
        names = data.split(",") if isinstance(data, str) else to_list(data)
        if not isinstance(names, list) or any(isinstance(name, bool | list | dict) or name is None for name in names):
            self.fail("list")
        names = [" ".join(trim(str(name)).split()) for name in names if not is_blank(str(name))]
        for name in names:
            if not is_xml_text(name):
                self.fail("characters")
            if len(name) > self.MAX_TAG_LENGTH:
                self.fail("too_long", most=self.MAX_TAG_LENGTH)
            if "," in name:
                self.fail("comma")
        if len({fold(name) for name in names}) > self.MAX_TAGS:
            self.fail("too_many", most=self.MAX_TAGS)
        return names
