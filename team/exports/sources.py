"""The rows of an export, read in chunks within the access of a user, and their values.

The rows of a list are those that pass its filters. Their ids are read first, in the order of the list, and then the values of each chunk of ids.
The other kinds of rows have no filters, and are read in the order of their primary keys.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date
from functools import cached_property
from operator import itemgetter
from typing import Any

import orjson
from django.db.models import Model, QuerySet
from django.http import Http404, QueryDict
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.fields.catalogue import REASON_NAMES
from accounts.statuses.models import reason_text
from accounts.users.models import User
from core.api.fields import to_id
from core.db.text import replace_non_xml
from core.db.time_limit import time_limit
from core.errors import FieldError, FieldErrors
from core.numbers import to_decimal
from core.rows.declared import FieldType
from core.rows.values import ValuesRow
from core.search.queries import MAX_QUERY_LENGTH, search, search_transaction
from forum.lists.pages.base import DEFAULT_ORDER, Filters, read_order
from forum.lists.queries import PostQuerySet
from forum.lists.team_filters import TeamOrder, read_team_filter, team_orders
from team.exports.columns import EXTERNAL_IDS, Column, Part, columns_of, shown_columns
from team.exports.declarations import EXPORTS, FORUM_SUGGESTIONS, NAMED, fields_of_export, names_of
from team.exports.formats import Amount, PhoneText, join_list
from team.fields.cells import currency_in, name_column, sums_text, value_in
from team.fields.names import LINKS, Names
from team.list_queries.declarations import LISTS
from team.list_queries.queries import ListQuery
from team.list_queries.selection import STEP, TIME_LIMIT_MS, selected_ids
from team.summaries.models import SUM_NAMES

# The number of rows that are read together.
CHUNK_SIZE = 1000
# The milliseconds that finding all rows may take in a job. In a request, the limit is that of the lists.
JOB_TIME_LIMIT_MS = 600_000
# The parameters of the list of suggestions. The export also has the id of their forum.
POST_PARAMETERS = ("forum_id", "category", "status", "kind", "tag", "order", "q")
UNKNOWN = _("is not a filter of this list")


def as_stored(value: Any) -> Any:
    return value if isinstance(value, bool | int | date) else str(value)


def as_list(value: Any) -> str:
    return join_list([*map(str, value)]) if isinstance(value, list) else str(value)


def as_number(value: Any) -> Any:
    # An additional field may have numbers as texts, from the time before it was defined.
    return str(value) if (number := to_decimal(value)) is None else number


CONVERTERS: dict[FieldType, Callable[[Any], Any]] = {
    FieldType.PHONE: PhoneText,
    FieldType.TAGS: as_list,
    FieldType.CHOICES: as_list,
    FieldType.NUMBER: as_number,
}


def source_of(resource: str, query: str, *, account: Account, user: User, all_columns: bool = False) -> "Source":
    """Return the rows that match the parameters of a list, in the active language. Raise FieldErrors."""
    parameters = QueryDict(query.removeprefix("?"))
    if resource in LISTS:
        found = ListQuery.read(LISTS[resource], parameters, account=account, user=user)
        if found.errors:
            raise FieldErrors(found.errors)
        return ListSource(resource, account, user, found, all_columns=all_columns)
    if resource == FORUM_SUGGESTIONS:
        return SuggestionSource(resource, account, user, parameters, all_columns=all_columns)
    for name in parameters:
        raise FieldError(name, UNKNOWN, "unknown")
    return Source(resource, account, user, all_columns=all_columns)


class Source:
    """The rows of an export. This class reads those of tables without filters."""

    # The names of the shown fields. The default are those that lists show.
    shown: Sequence[str] | None = None

    def __init__(self, resource: str, account: Account, user: User, *, all_columns: bool = False) -> None:
        self.resource, self.account, self.user = EXPORTS[resource], account, user
        fields = fields_of_export(resource, account)
        columns = columns_of(resource, account, fields)
        if not all_columns:
            shown = [field.name for field in fields if field.in_lists] if self.shown is None else self.shown
            columns = shown_columns(columns, shown)
        self.columns, self.headings = columns, [column.label for column in columns]
        # The readers of the columns use the names of the current chunk.
        self.names = Names()

    def count(self, limit: int, *, time_limit_ms: int = TIME_LIMIT_MS) -> int:
        """Return the number of rows, or `limit + 1` if there are more. Raise `TooSlow`."""
        with time_limit(time_limit_ms):
            return sum(rows.order_by()[: limit + 1].count() for rows in self.tables())

    def tables(self) -> list[QuerySet[Model]]:
        return [rows_of(self.account, self.user) for rows_of in self.resource.tables]

    def rows(self) -> Iterator[list[ValuesRow]]:
        """Yield the rows in chunks."""
        for table in self.tables():
            columns, rows = ("pk", *self.names_of_values), table
            while chunk := list(self.with_names(rows).order_by("pk").values(*columns)[:CHUNK_SIZE]):
                yield chunk
                rows = table.filter(pk__gt=chunk[-1]["pk"])

    @cached_property
    def names_of_values(self) -> set[str]:
        """The columns of the table, and the annotations, that the columns of the file need."""
        found = {
            name_column(column.field.name)
            if column.part == Part.NAME and column.field.name in NAMED
            else EXTERNAL_IDS
            if column.external_key
            else column.field.column
            for column in self.columns
        }
        return found | ({"currency"} if "price" in found else set())

    def with_names(self, rows: QuerySet[Model]) -> QuerySet[Model]:
        names = {name: value for name, value in names_of(self.account).items() if name in self.names_of_values}
        named: QuerySet[Model] = rows.annotate(**names)
        return named

    def chunks(self) -> Iterator[list[list[Any]]]:
        """Yield the values of the rows, in chunks. A row that was deleted meanwhile is left out."""
        readers = [self.reader(column) for column in self.columns]
        fields = {column.field.name: column.field for column in self.columns if column.field.type in LINKS}.values()
        for rows in self.rows():
            links = [(field.type, value_in(row, field)) for field in fields for row in rows]
            self.names = Names.read(self.account, self.user, links)
            yield [[read(row) for read in readers] for row in rows]

    def reader(self, column: Column) -> Callable[[ValuesRow], Any]:
        """Return the function that returns the value of a column in a row."""
        field, part, currency = column.field, column.part, self.account.currency
        if key := column.external_key:
            return lambda row: row[EXTERNAL_IDS].get(key)
        if field.name == EXTERNAL_IDS:
            return lambda row: orjson.dumps(row[EXTERNAL_IDS]).decode() if row[EXTERNAL_IDS] else None
        if part == Part.NAME and field.name in NAMED:
            return itemgetter(name_column(field.name))
        if part == Part.NAME:
            return lambda row: self.names.names.get((field.type, row[field.name]))
        if field.name in SUM_NAMES:
            return lambda row: self.sum_of(row, field.name, part)
        if part == Part.CURRENCY:
            return lambda row: None if value_in(row, field) in (None, "") else currency
        if field.type == FieldType.MONEY:
            return lambda row: self.amount_of(value_in(row, field), currency_in(row, field, currency))
        convert = self.resource.texts.get(field.name) or self.converter(column)
        if not field.key:
            return lambda row: None if (value := row[field.name]) is None else convert(value)
        return lambda row: None if (value := value_in(row, field)) is None else convert(value)

    def converter(self, column: Column) -> Callable[[Any], Any]:
        """Return the function that converts a stored value, which is not None, to a value of a file."""
        zone, field = self.account.zone, column.field
        if field.type == FieldType.TIME:
            return lambda time: (
                (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(zone).replace(tzinfo=None)
            )
        return reason_text if field.name in REASON_NAMES else CONVERTERS.get(field.type, as_stored)

    def amount_of(self, value: Any, currency: str) -> Any:
        if value is None or (number := to_decimal(value)) is None:
            return None if value is None else str(value)
        return Amount(number, currency)

    def sum_of(self, row: ValuesRow, name: str, part: Part) -> Any:
        """Return the sum of a client in the currency of the account, this currency, or the text of the sums in others."""
        own = self.account.currency
        if part == Part.OTHERS:
            return sums_text([total for total in row[name] if total.currency != own], name, is_grouped=False)
        deals = name.replace("_sum", "_deals")
        for total in row[name]:
            if total.currency == own and getattr(total, deals):
                return own if part == Part.CURRENCY else Amount(getattr(total, name), own)
        return None


class IdSource(Source):
    """The rows of a list with filters, whose ids are read first. A million ids take 8 MB of memory."""

    ids: Sequence[int] | None = None

    def count(self, limit: int, *, time_limit_ms: int = TIME_LIMIT_MS) -> int:
        self.ids = self.find_ids(limit, time_limit_ms)
        return len(self.ids)

    def find_ids(self, limit: int, time_limit_ms: int) -> Sequence[int]:
        """Return the ids of the rows in the order of the list, at most `limit + 1`. Raise `TooSlow`."""
        raise NotImplementedError

    def values(self, ids: Sequence[int]) -> dict[int, ValuesRow]:
        raise NotImplementedError

    def rows(self) -> Iterator[list[ValuesRow]]:
        ids = self.ids or ()
        for start in range(0, len(ids), CHUNK_SIZE):
            chunk = ids[start : start + CHUNK_SIZE]
            found = self.values(chunk)
            yield [found[id] for id in chunk if id in found]


class ListSource(IdSource):
    """The rows of a list of the team's pages."""

    def __init__(
        self, resource: str, account: Account, user: User, query: ListQuery, *, all_columns: bool = False
    ) -> None:
        self.query = query
        self.shown = [query.declaration.name_field, *(field.name for field in query.shown_fields)]
        super().__init__(resource, account, user, all_columns=all_columns)

    def find_ids(self, limit: int, time_limit_ms: int) -> Sequence[int]:
        return selected_ids(self.query, limit=limit, ordered=True, time_limit_ms=time_limit_ms)

    def values(self, ids: Sequence[int]) -> dict[int, ValuesRow]:
        return self.query.values(ids, {"id", *self.names_of_values})


class SuggestionSource(IdSource):
    """The suggestions of one forum, or of all forums, with the filters and the order of their list."""

    def __init__(
        self, resource: str, account: Account, user: User, parameters: QueryDict, *, all_columns: bool = False
    ) -> None:
        super().__init__(resource, account, user, all_columns=all_columns)
        self.team_filter = read_team_filter(parameters, account, user)
        further = team_orders(user)
        errors = list(self.team_filter.errors)
        known = {*POST_PARAMETERS, *self.team_filter.parameters, *(error.field for error in errors)}
        for name, value in parameters.items():
            if value and name not in known:
                errors.append(FieldError(name, UNKNOWN, "unknown"))
        rows: PostQuerySet = account.posts.listed_for(user)
        if forum := parameters.get("forum_id"):
            forum_id = to_id(forum)
            if forum_id is None or not account.forums.filter(id=forum_id).exists():
                errors.append(FieldError("forum_id", _("can't be found"), "gone"))
            else:
                rows = rows.of_forum(forum_id)
        try:
            filters = Filters.read(parameters, account.categories.all(), account.statuses_of_kind("post"))
            order = read_order(parameters.get("order"), DEFAULT_ORDER, further)
        except Http404:
            errors.append(
                FieldError("", _("names a category, a status, a kind or an order that does not exist"), "gone")
            )
        if errors:
            raise FieldErrors(errors)
        self.posts = self.team_filter.select(rows.selected(filters.selection))
        self.q = replace_non_xml(parameters.get("q", ""))[:MAX_QUERY_LENGTH].strip()
        self.order = further.get(order, order)

    def find_ids(self, limit: int, time_limit_ms: int) -> Sequence[int]:
        list_rows = self.account.posts.live().without_tasks()
        with time_limit(time_limit_ms), search_transaction(self.account.id, self.q) as text:
            if self.q:
                return search(self.posts, text, list_rows=list_rows)[: limit + 1]
            if isinstance(self.order, TeamOrder):
                rows = self.order.sort(self.posts, self.account)
            else:
                rows = self.posts.order_by(*PostQuerySet.PAGE_ORDERS[self.order])
            return array("q", rows.values_list("id", flat=True)[: limit + 1].iterator(chunk_size=STEP))

    def values(self, ids: Sequence[int]) -> dict[int, ValuesRow]:
        rows = self.with_names(self.account.posts.listed_for(self.user).filter(id__in=list(ids)))
        return {row["id"]: row for row in rows.values("id", *self.names_of_values)}
