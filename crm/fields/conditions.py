"""Conditions on the fields of clients, contacts and deals, as the URL of a list has them.

The name of a parameter is a field of `crm.fields.catalogue` and an operator: `city=Gdansk`, `city__contains=gda`, `created_at__after=2026-01-01`,
`email__empty=true`, `additional_fields[size]__not=XL`. An additional field without a definition is compared as a text.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any

from django.db.models import BooleanField, F, Func, Model, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.users.models import User
from core.api.fields import to_decimal
from core.db.tenancy import fold
from core.db.text import is_xml_text
from core.errors import FieldError
from core.numbers import AmbiguousNumber, InvalidNumber, parse_number, plain_text
from core.rows.declared import FieldType
from core.rows.last_changes import has_last_changes, with_last_change
from core.rows.trimmed import fold_email, trim
from core.search.terms import HAS_WORDS, has_part
from crm.fields.catalogue import Field, defined_name

MAX_CONDITIONS = 20
MAX_VALUE_LENGTH = 255
# The digits of a number before the point, and the zeros after it.
MAX_DIGITS = 14
# Values of a parameter that stand for the user who sends the request.
ME = "me"
BOOLEANS = {"true": True, "1": True, "false": False, "0": False}

# A number in which the comma may be a decimal sign or a separator of thousands.
_TWO_READINGS = re.compile("-?[0-9]{1,3},[0-9]{3}")
_NAME = re.compile(r"(?P<field>[a-z_]+?|additional_fields\[(?P<key>[^\]]{1,64})\])(?:__(?P<operator>[a-z]+))?")


class Operator(StrEnum):
    IS = "is"
    NOT = "not"
    CONTAINS = "contains"
    AFTER = "after"
    BEFORE = "before"
    EMPTY = "empty"


_TEXTS = (FieldType.TEXT, FieldType.EMAIL, FieldType.PHONE, FieldType.LINK)
_AMOUNTS = (FieldType.NUMBER, FieldType.MONEY)
_TIMES = (FieldType.DATE, FieldType.TIME)
_IDS = (FieldType.USER, FieldType.STATUS, FieldType.CLIENT, FieldType.CONTACT, FieldType.DEAL)
# The operators of a field, the most useful one first.
OPERATORS: dict[FieldType, tuple[Operator, ...]] = {
    **dict.fromkeys(_TEXTS, (Operator.CONTAINS, Operator.IS, Operator.NOT, Operator.EMPTY)),
    FieldType.LONG_TEXT: (Operator.CONTAINS, Operator.EMPTY),
    **dict.fromkeys(_AMOUNTS, (Operator.IS, Operator.AFTER, Operator.BEFORE, Operator.EMPTY)),
    **dict.fromkeys(_TIMES, (Operator.AFTER, Operator.BEFORE, Operator.IS, Operator.EMPTY)),
    FieldType.BOOLEAN: (Operator.IS, Operator.EMPTY),
    FieldType.CURRENCY: (Operator.IS, Operator.NOT),
    **dict.fromkeys(
        (FieldType.CHOICE, FieldType.CHOICES, FieldType.TAGS, *_IDS), (Operator.IS, Operator.NOT, Operator.EMPTY)
    ),
}


def parameter_name(field: Field, operator: Operator) -> str:
    return field.name if operator == Operator.IS else f"{field.name}__{operator}"


def find_field(name: str, fields: Mapping[str, Field]) -> tuple[Field, Operator] | None:
    """Return the field and the operator of a parameter. Return None if it is not the name of a condition."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    field = fields.get(match["field"])
    if field is None and match["key"]:
        field = Field(defined_name(match["key"]), match["key"], FieldType.TEXT, "custom", undefined_key=match["key"])
    operator = match["operator"] or Operator.IS
    if field is None or operator not in OPERATORS[field.type]:
        return None
    return field, Operator(operator)


@dataclass(frozen=True)
class Condition:
    account_id: int
    field: Field
    operator: Operator
    # The text in the URL, and the value that it stands for.
    text: str
    value: Any

    @property
    def parameter(self) -> str:
        return parameter_name(self.field, self.operator)

    @classmethod
    def read(
        cls,
        field: Field,
        operator: Operator,
        text: str,
        *,
        account: Account,
        user: User | None,
        language: str | None = None,
    ) -> "Condition":
        """Return the condition with the value that the text stands for. Raise FieldError for an invalid text.

        A number is read as a person types it in a language (`core.numbers`), or without one as a program writes it. The text of the
        condition has the same meaning in every language.
        """
        name, text = parameter_name(field, operator), text.strip()
        if len(text) > MAX_VALUE_LENGTH or not is_xml_text(text):
            raise FieldError(name, _("is too long or has characters that can't be stored"))
        if operator == Operator.EMPTY or field.type == FieldType.BOOLEAN:
            if text.lower() not in BOOLEANS:
                raise FieldError(name, _("is not true or false"), "boolean")
            return cls(account.id, field, operator, text.lower(), BOOLEANS[text.lower()])
        if not text:
            raise FieldError(name, _("can't be blank"), "blank")
        if field.is_amount:
            number = read_number(name, text, language, is_money=field.type == FieldType.MONEY)
            return cls(account.id, field, operator, plain_text(number), (number, None))
        return cls(account.id, field, operator, text, READERS.get(field.type, read_text)(name, text, account, user))

    def filter(self, rows: QuerySet[Model]) -> QuerySet[Model]:
        if self._compares_text and self.operator in (Operator.IS, Operator.CONTAINS):
            rows = rows.filter(self._prefilter(rows.model))
        return self.filter_in_order(rows)

    def filter_in_order(self, rows: QuerySet[Model]) -> QuerySet[Model]:
        """Return the same rows as `filter`, in a list that is scanned in its order until a page is full.

        The condition has no part that the search index finds. PostgreSQL underestimates the number of rows that meet both parts, and would
        collect and sort all of them.
        """
        if self.field.key:
            return rows.filter(additional_condition(self))
        if self.field.type in _IDS or self.field.type == FieldType.BOOLEAN:
            return rows.filter(self._compare_null(self.field.name))
        if self.field.type == FieldType.TAGS:
            return rows.filter(self._compare_tags())
        if self.field.type in (*_TIMES, *_AMOUNTS):
            if self.field.name == "updated_at" and has_last_changes(rows.model):
                return with_last_change(rows).filter(self._compare_order("last_changed_at"))
            return rows.filter(self._compare_order(self.field.name))
        return rows.filter(self._compare_text(rows.model))

    def filter_for_estimate(self, rows: QuerySet[Model]) -> QuerySet[Model]:
        """Return the rows that meet the part of the condition that PostgreSQL can estimate.

        It has no statistics of expressions such as UPPER(city), and assumes that very few rows meet a condition on one.
        """
        if self._compares_text and self.operator in (Operator.IS, Operator.CONTAINS):
            return rows.filter(self._prefilter(rows.model, estimated=True))
        if self.field.key and self.operator == Operator.CONTAINS:
            return rows.filter(~Q(additional_fields={}))
        return self.filter(rows)

    @property
    def _compares_text(self) -> bool:
        """True if texts are compared without regard to case, by expressions that have no index."""
        is_text = self.field.type in (*_TEXTS, FieldType.LONG_TEXT) and not self.field.key
        return is_text and not (self.field.type == FieldType.EMAIL and self.operator == Operator.IS)

    def _compare_null(self, name: str) -> Q:
        if self.operator == Operator.EMPTY:
            return Q(**{f"{name}__isnull": self.value})
        return (
            ~Q(**{name: self.value}) | Q(**{name: None}) if self.operator == Operator.NOT else Q(**{name: self.value})
        )

    def _compare_tags(self) -> Q:
        if self.operator == Operator.EMPTY:
            return Q(tags=[]) if self.value else ~Q(tags=[])
        found = Q(tags__contains=[self.value])
        return ~found if self.operator == Operator.NOT else found

    def _compare_order(self, name: str) -> Q:
        if self.operator == Operator.EMPTY:
            return Q(**{f"{name}__isnull": self.value})
        first, end = self.value
        if self.operator == Operator.AFTER:
            # `after` a day begins with the next day.
            return Q(**{f"{name}__gte": end}) if end is not None else Q(**{f"{name}__gt": first})
        if self.operator == Operator.BEFORE:
            return Q(**{f"{name}__lt": first})
        return Q(**{f"{name}__gte": first, f"{name}__lt": end}) if end is not None else Q(**{name: first})

    def _compare_text(self, model: type[Model]) -> Q:
        name = self.field.name
        if self.operator == Operator.EMPTY:
            blank = Q(**{f"{name}__isnull": True}) | Q(**{name: ""})
            return blank if self.value else ~blank
        if self.operator == Operator.CONTAINS:
            return self._contains(model)
        if self.field.type == FieldType.EMAIL:
            found = Q(email_key=fold_email(self.value))
        elif self.field.type == FieldType.CURRENCY:
            found = Q(**{name: self.value.upper()})
        else:
            found = Q(**{f"{name}__iexact": self.value})
        return ~found | Q(**{f"{name}__isnull": True}) if self.operator == Operator.NOT else found

    def _prefilter(self, model: type[Model], *, estimated: bool = False) -> Q:
        """Return a looser condition on the text of the search index, which finds the rows; every row for fields that are not searched.

        If the rows are `estimated`, the condition consists of LIKE only, for which PostgreSQL has statistics.
        """
        search = getattr(model, "search", None)
        if search is None or self.field.name not in {search.name_field, *search.short, *search.numbers}:
            return Q()
        part = "search.compact(%s)" if self.field.name in search.numbers else "btrim(search.fold(%s))"
        like = condition(f"search_text LIKE '%%' || {part} || '%%'", [self.value])
        if estimated:
            return Q(like)
        found = Q(ColumnCondition(has_part(part), "account_id", [self.account_id, self.value])) & Q(like)
        if self.field.name not in search.numbers and (words := short_words(self.value)):
            found &= Q(condition(HAS_WORDS, [self.account_id, words]))
        return found

    def _contains(self, model: type[Model]) -> Q:
        search = getattr(model, "search", None)
        if search is not None and self.field.name in search.numbers:
            # The number is compared without spaces and punctuation.
            sql = "search.compact({column}) LIKE '%%' || search.compact(%s) || '%%'"
            return Q(ColumnCondition(sql, self.field.name, [self.value]))
        return Q(**{f"{self.field.name}__icontains": self.value})


def short_words(text: str) -> str:
    """Return a tsquery for the words after the first that are too short for a trigram, such as the number in "City 7".

    In a text that contains `text`, words begin with them. The result is empty for a text with other than ASCII characters, whose words
    only the database knows.
    """
    words = re.findall("[a-z0-9]+", text.lower()) if text.isascii() else []
    return " & ".join(f"'{word}':*" for word in words[1:] if len(word) < 3)


class ColumnCondition(Func):
    """A condition in SQL, in which `{column}` stands for a column, also in a subquery, where its table has another name."""

    output_field = BooleanField()

    def __init__(self, sql: str, column: str, values: list[object]) -> None:
        super().__init__(F(column))
        self.sql, self.values = sql, values

    def as_sql(self, compiler: Any, connection: object, *args: object, **kwargs: Any) -> tuple[str, tuple[Any, ...]]:
        column, _ = compiler.compile(self.source_expressions[0])
        return self.sql.replace("{column}", column), tuple(self.values)


def condition(sql: str, values: list[object]) -> RawSQL:
    return RawSQL(sql, values, output_field=BooleanField())  # noqa: S611, the text has no input


def additional_condition(given: Condition) -> Q:
    """Return the condition on an additional field. `is` uses the index of the column, all other operators compare row by row."""
    key, value, operator = given.field.key, given.value, given.operator
    has_key = Q(additional_fields__has_key=key)
    if operator == Operator.EMPTY:
        filled = has_key & ~Q(additional_fields__contains={key: ""})
        return ~filled if value else filled
    # The condition of the partial index, which PostgreSQL does not derive.
    some = ~Q(additional_fields={})
    if operator == Operator.CONTAINS:
        text = condition("additional_fields ->> %s ILIKE %s", [key, f"%{escape_like(value)}%"])
        return some & has_key & Q(text)
    if operator in (Operator.AFTER, Operator.BEFORE):
        limit = value[0]
        limit = limit.isoformat() if isinstance(limit, date) else float(limit)
        sign = ">" if operator == Operator.AFTER else "<"
        path = f"$.{json.dumps(key)} ? (@ {sign} $limit)"
        found = condition(
            "jsonb_path_exists(additional_fields, %s::jsonpath, %s::jsonb)", [path, json.dumps({"limit": limit})]
        )
        return some & Q(found)
    found_value = Q()
    for stored in stored_forms(given.field.type, value):
        found_value |= Q(additional_fields__contains={key: stored})
    return ~found_value if operator == Operator.NOT else some & found_value


def stored_forms(type: FieldType, value: Any) -> Iterable[object]:
    """Return the forms in which a value may be stored in `additional_fields`."""
    if isinstance(value, bool):
        return [value]
    if isinstance(value, tuple):
        value = value[0]
    if isinstance(value, date):
        return [value.isoformat()]
    if isinstance(value, Decimal):
        return [value, str(value)]
    if type == FieldType.CHOICES:
        return [[value], value]
    forms: list[object] = [value]
    if re.fullmatch(r"-?[0-9]{1,18}", value):
        forms.append(int(value))
    if value in ("true", "false"):
        forms.append(value == "true")
    return forms


def escape_like(text: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", text)


# Readers of the texts of parameters


def read_text(name: str, text: str, account: Account, user: User | None) -> str:
    return text


def read_tag(name: str, text: str, account: Account, user: User | None) -> str:
    """Return the name of the tag as it is stored. Names that differ only in case are the same tag."""
    return account.tags.filter(name_key=fold(trim(text))).values_list("name", flat=True).first() or text


def read_id(name: str, text: str, account: Account, user: User | None) -> int:
    if text == ME and user is not None:
        return user.id
    if not re.fullmatch(r"[0-9]{1,18}", text, re.ASCII):
        raise FieldError(name, _("is not an id"), "number")
    return int(text)


def read_number(name: str, text: str, language: str | None, *, is_money: bool, currency: str = "") -> Decimal:
    """Return the number that a text means. Raise FieldError, with the code `ambiguous` for a text with two readings.

    An amount may have a currency: any, or only `currency`.
    """
    if language is None:
        number = to_decimal(text.replace(",", ".") if not _TWO_READINGS.fullmatch(text) else text)
    else:
        try:
            typed = parse_number(text, language, currency=currency)
        except AmbiguousNumber:
            raise FieldError(name, _("can be read in two ways: choose what you mean"), "ambiguous") from None
        except InvalidNumber:
            raise FieldError(name, _("is not a number"), "number") from None
        if typed.currency and currency and typed.currency != currency:
            raise FieldError(name, _("is an amount in {currency}"), "currency", {"currency": currency})
        number = typed.value if is_money or not typed.currency else None
    if number is None or (number and not -MAX_DIGITS < number.adjusted() < MAX_DIGITS):
        raise FieldError(name, _("is not a number"), "number")
    return number


def read_day(name: str, text: str, account: Account, user: User | None) -> tuple[date, date]:
    """Return the day, and the day after it."""
    try:
        day = parse_date(text)
        if day is not None:
            return day, day + timedelta(days=1)
    except (ValueError, OverflowError):
        pass
    raise FieldError(name, _("is not a date such as 2026-01-31"), "date")


def read_time(name: str, text: str, account: Account, user: User | None) -> tuple[datetime, datetime | None]:
    """Return the time, or the beginning and the end of a day in the time zone of the account."""
    try:
        # A plus sign that is not escaped in a URL was decoded to a space.
        moment = parse_datetime(text.replace(" ", "+")) if "T" in text else None
    except ValueError:
        moment = None
    if moment is not None:
        return (moment if moment.tzinfo else moment.replace(tzinfo=account.zone)).astimezone(UTC), None
    day, next_day = read_day(name, text, account, user)
    try:
        first, end = (datetime.combine(date, time(), tzinfo=account.zone).astimezone(UTC) for date in (day, next_day))
    except (ValueError, OverflowError):
        raise FieldError(name, _("is not a date such as 2026-01-31"), "date") from None
    return first, end


READERS: dict[FieldType, Callable[[str, str, Account, User | None], object]] = {
    **dict.fromkeys(_IDS, read_id),
    FieldType.TAGS: read_tag,
    FieldType.DATE: read_day,
    FieldType.TIME: read_time,
}
