"""Conditions on the fields of the rows of a list, such as clients or suggestions, as the URL of the list has them.

The name of a parameter is a field of `accounts.fields.catalogue` and an operator: `city=Gdansk`, `city__contains=gda`, `created_at__after=2026-01-01`,
`email__empty=true`, `additional_fields[size]__not=XL`. An additional field without a definition is compared as a text. The operators `any` and
`none` have several values, each in a parameter of its own: `city__any=Gdansk&city__any=Sopot`.

Two prefixes may precede the field. `client.city=Gdansk` is a condition on a related row (`team.conditions.relations`). `or1.` to `or9.` number
groups: a row passes if it meets all conditions of at least one group, and all conditions without a group.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from enum import Enum, StrEnum
from functools import reduce
from operator import and_, or_
from typing import Any

from django.db.models import BooleanField, F, Func, Model, Q, QuerySet
from django.db.models.expressions import Expression, RawSQL
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.fields.catalogue import Field, defined_name
from accounts.statuses.models import Status
from accounts.users.models import User
from core.db.text import is_xml_text
from core.errors import FieldError
from core.numbers import plain_text
from core.rows.declared import FieldType
from core.rows.last_changes import has_last_changes, with_last_change
from core.rows.trimmed import fold_email
from core.search.terms import HAS_WORDS, has_part
from team.conditions.relations import Relation
from team.conditions.values import BOOLEANS, FILTER_READERS, IDS, READERS, read_number, read_tags

MAX_CONDITIONS = 20
# The values of one condition with the operator `any` or `none`.
MAX_VALUES = 50
MAX_VALUE_LENGTH = 255

_NAME = re.compile(
    r"(?:or(?P<group>[1-9])\.)?(?:(?P<relation>[a-z_]+)\.)?"
    r"(?P<field>[a-z_]+?|additional_fields\[(?P<key>[^\]]{1,64})\])(?:__(?P<operator>[a-z]+))?"
)


class Operator(StrEnum):
    IS = "is"
    NOT = "not"
    ANY = "any"
    NONE = "none"
    CONTAINS = "contains"
    AFTER = "after"
    BEFORE = "before"
    EMPTY = "empty"


class QueryPurpose(Enum):
    """The statement for which a condition is written."""

    # Find the rows: with a looser condition that the search index serves, before the condition itself.
    FIND = "find"
    # Scan a list in its order until a page is full. Without that part, because PostgreSQL underestimates the number of rows that meet both
    # parts, and would collect and sort all of them.
    SCAN = "scan"
    # Estimate the number of rows. PostgreSQL has no statistics of expressions such as UPPER(city), and assumes that very few rows meet a
    # condition on one, so only the part counts that it can estimate.
    ESTIMATE = "estimate"


TEXTS = (FieldType.TEXT, FieldType.EMAIL, FieldType.PHONE, FieldType.LINK)
_AMOUNTS = (FieldType.NUMBER, FieldType.MONEY)
_TIMES = (FieldType.DATE, FieldType.TIME)
_EQUAL = (Operator.IS, Operator.NOT, Operator.ANY, Operator.NONE)
SEVERAL = (Operator.ANY, Operator.NONE)
# The operators of a field, the most useful one first.
OPERATORS: dict[FieldType, tuple[Operator, ...]] = {
    **dict.fromkeys(TEXTS, (Operator.CONTAINS, *_EQUAL, Operator.EMPTY)),
    FieldType.LONG_TEXT: (Operator.CONTAINS, Operator.EMPTY),
    **dict.fromkeys(_AMOUNTS, (Operator.IS, Operator.AFTER, Operator.BEFORE, Operator.EMPTY)),
    **dict.fromkeys(_TIMES, (Operator.IS, Operator.AFTER, Operator.BEFORE, Operator.EMPTY)),
    FieldType.BOOLEAN: (Operator.IS, Operator.EMPTY),
    FieldType.CURRENCY: _EQUAL,
    **dict.fromkeys((FieldType.CHOICE, FieldType.CHOICES, FieldType.TAGS, *IDS), (*_EQUAL, Operator.EMPTY)),
}


def operators_of(field: Field) -> tuple[Operator, ...]:
    return _EQUAL if field.name in FILTER_READERS else OPERATORS[field.type]


@dataclass(frozen=True)
class Target:
    """The field that a parameter compares, of the rows of the list or of related rows. The condition belongs to one group, or with group 0 to every group."""

    field: Field
    operator: Operator = Operator.IS
    relation: Relation | None = None
    group: int = 0

    @property
    def column(self) -> str:
        """The field with the relation, as a form names it."""
        return f"{self.relation.name}.{self.field.name}" if self.relation else self.field.name

    @property
    def parameter(self) -> str:
        name = self.column if self.operator == Operator.IS else f"{self.column}__{self.operator}"
        return f"or{self.group}.{name}" if self.group else name


def find_target(
    name: str,
    fields: Mapping[str, Field],
    relations: Iterable[Relation] = (),
    fields_of: Callable[[Relation], Mapping[str, Field]] = lambda relation: {},
) -> Target | None:
    """Return what a parameter compares, or None if it is not the name of a condition. `fields_of` returns the fields of related rows."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    relation = next((relation for relation in relations if relation.name == match["relation"]), None)
    if match["relation"]:
        fields = fields_of(relation) if relation else {}
    field = fields.get(match["field"])
    if field is None and match["key"] and bool(relation) == bool(match["relation"]):
        field = Field(defined_name(match["key"]), match["key"], FieldType.TEXT, "custom", undefined_key=match["key"])
    operator = match["operator"] or Operator.IS
    if field is None or operator not in operators_of(field):
        return None
    return Target(field, Operator(operator), relation, int(match["group"] or 0))


@dataclass(frozen=True)
class Condition:
    account_id: int
    target: Target
    # The texts in the URL, and the values that they stand for: one, or with `any` and `none` several.
    texts: tuple[str, ...]
    values: tuple[Any, ...]

    @property
    def field(self) -> Field:
        return self.target.field

    @property
    def operator(self) -> Operator:
        return self.target.operator

    @property
    def parameter(self) -> str:
        return self.target.parameter

    @property
    def text(self) -> str:
        return self.texts[0]

    @property
    def value(self) -> Any:
        return self.values[0]

    @classmethod
    def read(
        cls,
        target: Target,
        texts: Sequence[str],
        *,
        account: Account,
        user: User | None,
        language: str | None = None,
    ) -> "Condition":
        """Return the condition with the values that the texts stand for. Raise FieldError for an invalid text.

        A number is read as a person types it in a language (`core.numbers`), or without one as a program writes it. The text of the
        condition has the same meaning in every language.
        """
        name, field, texts = target.parameter, target.field, [text.strip() for text in texts]
        if len(texts) > MAX_VALUES:
            raise FieldError(name, _("has more than {most} values"), "too_many", {"most": MAX_VALUES})
        if any(len(text) > MAX_VALUE_LENGTH or not is_xml_text(text) for text in texts):
            raise FieldError(name, _("is too long or has characters that can't be stored"))
        if target.operator == Operator.EMPTY or field.type == FieldType.BOOLEAN:
            texts = [text.lower() for text in texts]
            if not BOOLEANS.keys() >= {*texts}:
                raise FieldError(name, _("is not true or false"), "boolean")
            return cls(account.id, target, tuple(texts), tuple(BOOLEANS[text] for text in texts))
        if not all(texts):
            raise FieldError(name, _("can't be blank"), "blank")
        if field.is_amount:
            numbers = [read_number(name, text, language, is_money=field.type == FieldType.MONEY) for text in texts]
            return cls(account.id, target, tuple(map(plain_text, numbers)), tuple((number, None) for number in numbers))
        if field.type == FieldType.TAGS:
            return cls(account.id, target, tuple(texts), tuple(read_tags(texts, account)))
        values: Iterable[Any] = texts
        if (read := FILTER_READERS.get(field.name)) is not None:
            statuses = account.deal_statuses()
            values = [read(name, text, statuses) for text in texts]
        elif (reader := READERS.get(field.type)) is not None:
            values = [reader(name, text, account, user) for text in texts]
        return cls(account.id, target, tuple(texts), tuple(values))

    def in_group(self, group: int) -> "Condition":
        return replace(self, target=replace(self.target, group=group))

    def filter(self, rows: QuerySet[Model], purpose: QueryPurpose = QueryPurpose.FIND) -> QuerySet[Model]:
        """Return the rows that meet the condition, or for an estimate the part of it that PostgreSQL can estimate."""
        if self.field.name == "updated_at" and has_last_changes(rows.model):
            # The table of last changes has the index.
            return with_last_change(rows).filter(self._compare_order("last_changed_at"))
        return rows.filter(self.to_q(rows.model, purpose))

    def shorten(self, rows: QuerySet[Model], expression: Expression | None) -> QuerySet[Model]:
        """Return the rows that meet a condition on a day or a time by the index of its order, which may have an expression of the column."""
        if expression is None:
            return self.filter(rows)
        if self.operator not in (Operator.IS, Operator.AFTER, Operator.BEFORE):
            return rows
        shortened: QuerySet[Model] = rows.alias(in_order=expression).filter(self._compare_order("in_order"))
        return shortened

    def to_q(self, model: type[Model], purpose: QueryPurpose = QueryPurpose.FIND) -> Q:
        """Return the condition on a row of the model, as part of a larger one."""
        if self.operator in SEVERAL and self.field.name not in FILTER_READERS and self.field.type not in IDS:
            single = Operator.IS if self.operator == Operator.ANY else Operator.NOT
            target = replace(self.target, operator=single)
            parts = [
                replace(self, target=target, texts=(text,), values=(value,)).to_q(model, purpose)
                for text, value in zip(self.texts, self.values, strict=True)
            ]
            return reduce(or_ if self.operator == Operator.ANY else and_, parts)
        if self._compares_text and self.operator in (Operator.IS, Operator.CONTAINS) and purpose != QueryPurpose.SCAN:
            part = self._prefilter(model, estimated=purpose == QueryPurpose.ESTIMATE)
            return part if purpose == QueryPurpose.ESTIMATE else part & self._compare(model)
        if self.field.key and self.operator == Operator.CONTAINS and purpose == QueryPurpose.ESTIMATE:
            return ~Q(additional_fields={})
        return self._compare(model)

    def _compare(self, model: type[Model]) -> Q:
        if self.field.key:
            return additional_condition(self)
        if self.field.name in FILTER_READERS:
            return self._compare_statuses()
        if self.field.type in IDS or self.field.type == FieldType.BOOLEAN:
            return self._compare_null(self.field.name)
        if self.field.type == FieldType.TAGS:
            return self._compare_tags()
        if self.field.type in (*_TIMES, *_AMOUNTS):
            return self._compare_order(self.field.name)
        return self._compare_text(model)

    @property
    def _compares_text(self) -> bool:
        """True if texts are compared without regard to case, by expressions that have no index."""
        is_text = self.field.type in (*TEXTS, FieldType.LONG_TEXT) and not self.field.key
        return is_text and not (self.field.type == FieldType.EMAIL and self.operator == Operator.IS)

    def _compare_statuses(self) -> Q:
        """Compare the status of a deal with those that an outcome or a pipeline stands for."""
        ids = frozenset[int]().union(*self.values)
        # No row has the id of no status. With an empty list, Django would have no statement to estimate the number of rows.
        found = Q(status_id__in=sorted(ids - {Status.NONE_ID}) or [Status.NONE_ID])
        if Status.NONE_ID in ids:
            found |= Q(status_id=None)
        return ~found if self.operator in (Operator.NOT, Operator.NONE) else found

    def _compare_null(self, name: str) -> Q:
        if self.operator == Operator.EMPTY:
            return Q(**{f"{name}__isnull": self.value})
        found = Q(**({name: self.value} if len(self.values) == 1 else {f"{name}__in": self.values}))
        return ~found | Q(**{name: None}) if self.operator in (Operator.NOT, Operator.NONE) else found

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
    is_range = given.field.type in (*_TIMES, *_AMOUNTS) and operator != Operator.NOT
    if is_range and (operator != Operator.IS or not is_day_or_number(value)):
        return some & Q(has_value_in_range(key, operator, *value))
    found_value = Q()
    for stored in stored_forms(given.field.type, value):
        found_value |= Q(additional_fields__contains={key: stored})
    return ~found_value if operator == Operator.NOT else some & found_value


def is_day_or_number(value: tuple[Any, Any]) -> bool:
    first, end = value
    return end is None or (end - first).days == 1


def has_value_in_range(key: str, operator: Operator, first: Any, end: Any) -> RawSQL:
    """Return the condition that an additional field is before `first`, or at or after `end`, or between both.

    The stored text of a date has the order of dates. A number has no `end`.
    """
    bounds = {
        name: limit.isoformat() if isinstance(limit, date) else float(limit)
        for name, limit in (("first", first), ("end", end))
        if limit is not None
    }
    after = "@ >= $end" if end is not None else "@ > $first"
    found = {Operator.AFTER: after, Operator.BEFORE: "@ < $first", Operator.IS: "@ >= $first && @ < $end"}[operator]
    path = f"$.{json.dumps(key)} ? ({found})"
    return condition("jsonb_path_exists(additional_fields, %s::jsonpath, %s::jsonb)", [path, json.dumps(bounds)])


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
