"""Lists of the Account API: pages, orders, filters and searches, the same for every resource."""

from collections.abc import Collection, Iterable
from functools import cache
from typing import Any, Self, TypeVar, cast

from django.db import connection
from django.db.models import Model, QuerySet
from django.db.models.expressions import Expression, F, OrderBy, RawSQL
from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from core.api.conditions import ConditionFilters, FurtherFilters
from core.api.filters import ListFilterBackend, ListFilters
from core.api.paging import LinkPagination, ListPage
from core.api.resources import access_arguments, depends_on_access, values_query
from core.api.views import REPEATED, JSONViewSet
from core.db.prepared import PreparedQuery, prepared
from core.db.tenancy import account_of
from core.db.time_limit import TooSlow
from core.errors import FieldError, FieldErrors
from core.rows.access import ALL_ROWS
from core.rows.last_changes import has_last_changes, last_changes_of, order_by_change
from core.search.queries import MAX_RESULTS, Step, estimate_counts, first_rows_cte, search, search_transaction

T = TypeVar("T")

# A LIMIT up to `MAX_LITERAL_LIMIT` is a literal in the statement, a higher LIMIT a parameter.
MAX_LITERAL_LIMIT = 101
# If more than `COMMON_ROWS` rows pass the filters, the first page is expected within the first `SCAN_ROWS` rows of the list. For a page
# that ends at row n, `SPARSE_FACTOR` * n further rows are scanned.
COMMON_ROWS, SCAN_ROWS, SPARSE_FACTOR = 5000, 10_000, 4
# The maximum number of rows that are collected and sorted.
SORT_LIMIT = 50_000


class TooManyToSort(Exception):
    """No index has the order of the list, and it has more than `SORT_LIMIT` rows."""


TOO_SLOW = _(
    "takes too long, because too many rows would have to be compared: add a search, or one of the filters {filters}"
)
TOO_MANY_TO_SORT = _("can't be by this column for more than {most} entries: add a filter")


def scan_in_order(
    rows: QuerySet[Model], list_rows: QuerySet[Model], *, start: int, stop: int, has_relations: bool = False
) -> list[int] | None:
    """Return the ids of `rows` from `start` to `stop`, or None if not all of them are among the first rows of `list_rows`.

    `list_rows` have the order of the list. They are rows of the same table, or of a narrow table with the same ids and the index of the order.
    `has_relations` says that related rows decide which rows pass: PostgreSQL would collect all of them before the scan.
    """
    scan = scan_row_by_row if has_relations or list_rows.model is not rows.model else scan_same_table
    sql, parameters = scan(rows, list_rows, SCAN_ROWS + SPARSE_FACTOR * stop)
    with connection.cursor() as cursor:
        cursor.execute(f"{sql} LIMIT %s OFFSET %s", [*parameters, stop - start, start])
        ids = [row[0] for row in cursor.fetchall()]
    return ids if len(ids) == stop - start else None


def scan_same_table(rows: QuerySet[Model], list_rows: QuerySet[Model], limit: int) -> Step:
    sql, parameters = rows.values_list("id", flat=True).query.sql_with_params()
    first_rows, first_parameters = first_rows_cte(list_rows, limit)
    return f"WITH {first_rows} {sql}", [*first_parameters, *parameters]


def scan_row_by_row(rows: QuerySet[Model], list_rows: QuerySet[Model], limit: int) -> Step:
    """Return the statement that looks up each of the first `list_rows` in `rows`, one after another, until the page is full.

    PostgreSQL does not merge a subquery with OFFSET into the join. Otherwise it might collect and sort all rows that pass the filters.
    """
    terms, directions = order_terms(list_rows)
    first, first_parameters = list_rows.values("id", **terms)[:limit].query.sql_with_params()
    sql, parameters = rows.order_by().values("id").query.sql_with_params()
    text = f"""
        SELECT first.id FROM ({first}) AS first
        CROSS JOIN LATERAL (SELECT FROM ({sql}) AS passing WHERE passing.id = first.id OFFSET 0) AS passing
        ORDER BY {directions}
    """  # noqa: S608
    return text, [*first_parameters, *parameters]


def order_terms(rows: QuerySet[Model]) -> tuple[dict[str, Any], str]:
    """Return the expressions of the order of rows by new names, and the ORDER BY with these names."""
    terms, directions = {}, []
    for number, by in enumerate(rows.query.order_by):
        name = f"term{number}"
        named = OrderBy(F(by.removeprefix("-")), descending=by.startswith("-")) if isinstance(by, str) else by
        term = cast(OrderBy, named)
        terms[name] = term.expression
        directions.append(f"{name}{' DESC' if term.descending else ''}{' NULLS LAST' if term.nulls_last else ''}")
    return terms, ", ".join(directions)


def collect_and_sort(rows: QuerySet[Model], *, start: int, stop: int) -> tuple[list[int], int] | None:
    """Return the ids of the ordered `rows` from `start` to `stop`, and the number of all `rows`; None if there are more than `SORT_LIMIT`.

    MATERIALIZED makes PostgreSQL plan the subquery for all rows. The subquery still ends at the limit.
    """
    terms, directions = order_terms(rows)
    sql, parameters = rows.order_by().values("id", **terms).query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH found AS MATERIALIZED ({sql}), collected AS (SELECT * FROM found LIMIT %s),
            page AS (SELECT id, {", ".join(terms)} FROM collected ORDER BY {directions} LIMIT %s OFFSET %s)
            SELECT (SELECT count(*) FROM collected), (SELECT array_agg(id ORDER BY {directions}) FROM page)
            """,  # noqa: S608
            [*parameters, SORT_LIMIT + 1, stop - start, start],
        )
        number, ids = cursor.fetchone()
    return None if number > SORT_LIMIT else (ids or [], number)


class Paged(JSONViewSet):
    """The base of views with a list. The lists of resources use `Listing`."""

    pagination_class = LinkPagination
    filter_backends = [ListFilterBackend]
    filterset_class: type[ListFilters] | None = None

    @property
    def page(self) -> ListPage:
        """The requested page, after `read_page`."""
        return cast(LinkPagination, self.paginator).page

    def read_page(self, *other_parameters: str, errors: dict[str, FieldError] | None = None) -> None:
        """Read the page. `other_parameters` are the other parameters of the list. In `name[key]`, the key stands for any key.

        Raise FieldErrors with all errors, including `errors`, which has at most one error for each parameter.
        """
        all_errors = self.ignore_parameters(["page", "per_page", *other_parameters])
        try:
            cast(LinkPagination, self.paginator).read_page(self.parameters)
        except FieldErrors as caught:
            all_errors |= {error.field: error for error in caught.errors}
        all_errors |= errors or {}
        if all_errors:
            raise FieldErrors(all_errors.values())

    def take_page(self, rows: Iterable[T]) -> list[T]:
        """Return the rows of the page, as `paginate_queryset` does, of rows that were read from `page.start` to `page.stop`."""
        return cast(LinkPagination, self.paginator).take_page(rows, self)

    def list(self, request: Request) -> HttpResponse:
        rows = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response([self.represent(row) for row in rows])


class Listing(Paged):
    """A mixin for the list of a resource, which `list` renders from tuples.

    A page takes two statements. The first reads the ids of the page from an index alone, the second reads the rows. For a later page,
    PostgreSQL thus skips index entries instead of rows, and computes the counts of a row only for the rows of the page. The first
    reads `get_list_queryset`, the second `get_queryset`.
    """

    filterset_class: type[ListFilters] = ListFilters
    # The names in the parameter `order`.
    ordering_fields: tuple[str, ...] = ("id", "created_at", "updated_at", "name")
    # The expressions of the indexes of orders, for columns whose own values have no index.
    order_expressions: dict[str, Expression] = {"name": RawSQL("search_name", [])}
    # The order of a list without the parameter `order`. A search without it is ordered by rank.
    ordering: tuple[str, ...] = ("id",)

    def get_list_queryset(self) -> QuerySet[Model]:
        """Return the accessible rows of the list. Override it if `get_queryset` has annotations, which the ids of a page do not need."""
        return self.get_queryset()

    @property
    def unlimited(self) -> Self:
        """A view with all rows of the list, whatever the access."""
        return self.for_account(self.account, ALL_ROWS)

    @property
    def is_limited(self) -> bool:
        """True if the user may access only a part of the rows of the list."""
        return self.access.is_limited and depends_on_access(type(self), "get_list_queryset")

    def read_list(self) -> tuple[str | None, ListFilters | None]:
        """Read the page, and return the requested order or None, and the filters or None. Raise FieldErrors with all errors."""
        parameters = self.parameters
        errors: dict[str, FieldError] = {}
        order = parameters.get("order", "").strip() or None
        if order is not None and order.removeprefix("-") not in self.ordering_fields:
            allowed = [f"{sign}{name}" for name in self.ordering_fields for sign in ("", "-")]
            errors["order"] = FieldError("order", f"is not one of {', '.join(allowed)}", "choice")
        filters = None
        if self.is_limited or not parameters.keys() <= {"page", "per_page", "order", *self.common_keys}:
            filters = self.read_filters()
            errors |= filters.find_errors()
        self.read_page("order", *self.filterset_class.parameters(), errors=errors)
        return order, filters

    def read_filters(self) -> ListFilters:
        """Return the filters with the parameters of the request.

        A search without other parameters needs only the filter `q`, because copying all of them takes 2 ms.
        """
        is_search = self.parameters.keys() <= {"page", "per_page", "order", "q", *self.common_keys}
        filterset_class = self.filterset_class.only_search() if is_search else self.filterset_class
        return filterset_class(self.parameters, self.get_list_queryset(), request=self.request)

    def ids_from_parameters(self) -> list[int] | None:
        """Return the ids of the rows if the parameters identify the rows, for example by an external id. Otherwise return None."""
        return None

    def ids(self, filters: ListFilters | None, order: str | None, *, start: int, stop: int) -> list[int]:
        """Return the ids of the rows that pass the filters, from `start` to `stop`. A search without an `order` is ranked."""
        text = filters and filters.search_text
        if filters is None or (text is None and not filters.are_used and not self.is_limited):
            # PostgreSQL plans a literal limit better than a parameter. Each literal needs its own prepared statement, hence the maximum.
            is_literal = not start and stop <= MAX_LITERAL_LIMIT
            limits = {"first": stop} if is_literal else {"start": start, "size": stop - start}
            return list_query(type(self))(account_id=self.account.id, order=order, **limits)
        rows = filters.qs
        if rows.query.is_empty():
            return []
        with search_transaction(self.account.id, text or "", is_limited=filters.has_time_limit) as query:
            if text is None:
                return self.filtered_ids(filters, order, start=start, stop=stop)
            if start >= MAX_RESULTS:
                return []
            list_rows = self.unlimited.get_list_queryset() if filters.are_used or self.is_limited else None
            if order is None:
                return search(rows, query, list_rows=list_rows, enough=stop)[start:stop]
            found_ids = search(rows, query, list_rows=list_rows, ranked=False)
            rows = self.sort(self.get_list_queryset().filter(id__in=found_ids), order)
            return list(rows.values_list("id", flat=True)[start:stop])

    def filtered_ids(self, filters: ListFilters, order: str | None, *, start: int, stop: int) -> list[int]:
        """Return the ids of the rows that pass the filters, in order, from `start` to `stop`.

        PostgreSQL can read a filtered page in two ways: scan the index of the order until the page is full, or collect all rows
        that pass the filter from the index of the filter, and sort them. PostgreSQL assumes that the rows that pass are spread evenly
        over the list. If they are all at the end, such as the rows of a new colleague in a list by id, it may scan the whole list.

        This method therefore limits both ways. `estimate_counts` reads the estimated number of rows from EXPLAIN. If it exceeds
        `COMMON_ROWS`, the method scans the first rows of the list, about `SCAN_ROWS`. If they do not fill the page, it collects and
        sorts the rows that pass, unless there are more than `SORT_LIMIT`. For all other pages, PostgreSQL chooses the way.
        """
        rows, ids = self.sort(filters.qs, order), None
        if stop <= SORT_LIMIT:
            if estimate_counts(filters.rows_for_estimate)[0] > COMMON_ROWS:
                # A filter by the column of the order shortens the list at its beginning.
                all_rows = self.unlimited.order_all(order)
                list_rows = filters.filter_by_column(all_rows, next(iter(self.columns(order))))
                ids = scan_in_order(rows, list_rows, start=start, stop=stop)
            if ids is None and (collected := collect_and_sort(rows, start=start, stop=stop)) is not None:
                ids, _number = collected
        return list(rows.values_list("id", flat=True)[start:stop]) if ids is None else ids

    def sort(self, rows: QuerySet[Model], order: str | None) -> QuerySet[Model]:
        """Return the rows in an order of the list. A subclass adds the condition of the index of the order."""
        rows = rows.order_by(*self.order_by(order))
        return order_by_change(rows) if self._is_by_last_change(rows, order) else rows

    def order_all(self, order: str | None) -> QuerySet[Model]:
        """Return the rows of the list in an order, to read their ids, or the rows of another table with the same ids."""
        rows = self.get_list_queryset()
        if self._is_by_last_change(rows, order):
            return last_changes_of(rows.model, self.account).order_by(*self.order_by(order))
        return self.sort(rows, order)

    def _is_by_last_change(self, rows: QuerySet[Model], order: str | None) -> bool:
        return "updated_at" in self.columns(order) and has_last_changes(rows.model)

    def columns(self, order: str | None) -> dict[str, bool]:
        """Return the columns of an order. The value of a column is true if its order is descending. The id breaks ties."""
        terms = self.ordering if order is None else (order, "-id" if order.startswith("-") else "id")
        return {term.removeprefix("-"): term.startswith("-") for term in terms}

    def order_by(self, order: str | None) -> list[OrderBy]:
        return [
            OrderBy(self.order_expressions.get(name, F(name)), descending=descending)
            for name, descending in self.columns(order).items()
        ]

    # This is the last method of the class, because in the class body after it `list` is no longer the built-in type.
    def list(self, request: Request) -> HttpResponse:
        ids = self.ids_from_parameters()
        if ids is not None:
            ids = self.take_page(ids)
        else:
            order, filters = self.read_list()
            ids = self.take_page(self.ids(filters, order, start=self.page.start, stop=self.page.stop))
        query = values_query(type(self))
        shown = query(account_id=self.account.id, ids=ids, **access_arguments(self)) if ids else []
        serializer, zone = self.serializer_class, self.account.zone
        by_id = {values[serializer.names.index("id")]: values for values in shown}
        # Another transaction may have deleted a row.
        return self.get_paginated_response([serializer.represent_values(by_id[id], zone) for id in ids if id in by_id])


class ConditionListing(Listing):
    """A mixin for the list of a resource that also has conditions on fields."""

    key: str
    filterset_class: type[ConditionFilters]
    # The list of the pages with the conditions, if its name is not `key`.
    record_list = ""
    # The names of the further parameters of the request.
    further_names: Collection[str] = ()

    def read_filters(self) -> ListFilters:
        filters = cast(ConditionFilters, super().read_filters())
        filters.read_further(self.record_list or self.key, user=self.request.user, ignored=self.common_keys)
        self.further_names = filters.further_names
        if filters.further is not None:
            self.check_scopes(filters.further.related_areas)
        return filters

    def ignore_parameters(self, known: Collection[str]) -> dict[str, FieldError]:
        """Accept the conditions too. A list may have several conditions on one field."""
        errors = super().ignore_parameters(known)
        self.ignored_parameters = [name for name in self.ignored_parameters if name not in self.further_names]
        errors = {name: error for name, error in errors.items() if name not in self.further_names}
        for name in ("sort", "view"):
            if name in self.further_names and len(self.parameters.getlist(name)) > 1:
                errors[name] = FieldError(name, REPEATED)
        return errors

    def ids(self, filters: ListFilters | None, order: str | None, *, start: int, stop: int) -> list[int]:
        further = filters.further if isinstance(filters, ConditionFilters) else None
        by_further = further is not None and not order and bool(further.sort)
        try:
            if filters is not None and further is not None and by_further and not further.has_index:
                return self.sorted_ids(filters, further, start=start, stop=stop)
            return super().ids(filters, further.sort if further and by_further else order, start=start, stop=stop)
        except TooManyToSort:
            raise FieldError("sort", TOO_MANY_TO_SORT, "too_many", {"most": f"{SORT_LIMIT:,}"}) from None
        except TooSlow:
            names = [name for name in self.further_names if name != "sort"] or ["sort"]
            raise FieldErrors(self.too_slow(name) for name in names) from None

    def sorted_ids(self, filters: ListFilters, further: FurtherFilters, *, start: int, stop: int) -> list[int]:
        """Return the ids in the order of the parameter `sort`, which has no index. Raise TooManyToSort."""
        text, rows = filters.search_text, filters.qs
        if rows.query.is_empty():
            return []
        with search_transaction(self.account.id, text or "", is_limited=True) as query:
            if text is None:
                ids, _number = further.sorted_ids(rows, filters.rows_for_estimate, start=start, stop=stop)
                return ids
            found = search(rows, query, list_rows=self.unlimited.get_list_queryset(), ranked=False)
            rows = self.get_list_queryset().filter(id__in=found).order_by(*further.order_by())
            return [*rows.values_list("id", flat=True)[start:stop]]

    @classmethod
    def too_slow(cls, name: str) -> FieldError:
        """Return the error of a parameter for which too many rows would have to be compared."""
        model: Any = cls.serializer_class.model
        # An index serves these columns. The parameter for a column of several values has the singular.
        filters = (each for each in model.search.filters if each.removesuffix("s") in cls.filterset_class.base_filters)
        return FieldError(name, TOO_SLOW, "too_slow", {"filters": ", ".join(filters)})


@cache
def list_query(listing: "type[Listing]") -> PreparedQuery:
    """Return the query for the ids of a `Listing`."""

    @prepared(account_id=int, start=int, size=int)
    def query(
        account_id: int, order: str | None, first: int | None = None, start: int = 0, size: int | None = None
    ) -> QuerySet[Model, object]:
        rows = listing.for_account(account_of(account_id), ALL_ROWS).order_all(order)
        return rows.values_list("id", flat=True)[start : start + (first or size or 0)]

    return query
