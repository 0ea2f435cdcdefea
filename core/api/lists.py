"""Lists of generation B: pages, orders, filters and searches, the same for every resource."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from django.db import connection
from django.db.models import QuerySet
from django.db.models.expressions import F, OrderBy, RawSQL
from django.http import HttpResponse

from core.api.filters import ListFilters
from core.api.paging import Page
from core.api.resources import values_query
from core.db.prepared import PreparedQuery, prepared
from core.db.tenancy import account_of
from core.errors import FieldError, FieldErrors
from core.search.queries import MAX_RESULTS, estimate_counts, first_rows_cte, search, search_transaction

if TYPE_CHECKING:
    from accounts.account import Account

# The rows of a page of a JSON list at most. A limit up to `MAX_LITERAL_LIMIT` is a literal of the statement.
MAX_PAGE_SIZE, MAX_LITERAL_LIMIT = 1000, 101
# If more than `COMMON_ROWS` rows pass the filters, the first page of them is expected within the first `SCAN_ROWS` rows of the list; a
# later page within `SPARSE_FACTOR` times as many more as the rows before its end.
COMMON_ROWS, SCAN_ROWS, SPARSE_FACTOR = 5000, 10_000, 4
# At most so many rows are collected and sorted.
SORT_LIMIT = 50_000


def scan_in_order(rows: QuerySet, listed: QuerySet, *, start: int, stop: int) -> list[int] | None:
    """Return the ids of `rows` from `start` to `stop`, if the first rows of `listed`, in the order of `rows`, hold them all."""
    sql, parameters = rows.values_list("id", flat=True)[start:stop].query.sql_with_params()
    first_rows, first_parameters = first_rows_cte(
        listed.order_by(*rows.query.order_by), SCAN_ROWS + SPARSE_FACTOR * stop
    )
    with connection.cursor() as cursor:
        cursor.execute(f"WITH {first_rows} {sql}", [*first_parameters, *parameters])
        ids = [row[0] for row in cursor.fetchall()]
    return ids if len(ids) == stop - start else None


def collect_and_sort(rows: QuerySet, *, start: int, stop: int) -> list[int] | None:
    """Return the ids of the ordered `rows` from `start` to `stop`; None if there are more than `SORT_LIMIT` rows.

    The statement is planned as if all rows were wanted (MATERIALIZED), and ends at the limit.
    """
    terms = {f"term{number}": term.expression for number, term in enumerate(rows.query.order_by)}
    directions = ", ".join(
        f"{name} DESC" if term.descending else name for name, term in zip(terms, rows.query.order_by, strict=True)
    )
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
    return None if number > SORT_LIMIT else ids or []


class Paged:
    """The base of all lists: it reads the requested page, refuses wrong parameters, and links to the neighbouring pages.

    Comments and the trash have one order and need no more than this; resources have a `Listing`.
    """

    max_page_size = MAX_PAGE_SIZE

    def read_page(self, *others: str, errors: dict[str, FieldError] | None = None) -> Page:
        """Return the requested page. `others` are the other parameters of the list; `name[key]` is one with any key.

        Raise FieldErrors with all errors, including the `errors` found before, of which each parameter has at most one.
        """
        found = self.ignore_parameters(["page", "per_page", *others])
        # A blank parameter means the default.
        given = {name: text for name in ("page", "per_page") if (text := self.parameters.get(name, "").strip())}
        try:
            page = Page.read(given, max_size=self.max_page_size)
        except FieldErrors as caught:
            found |= {error.field: error for error in caught.errors}
        found |= errors or {}
        if found:
            raise FieldErrors(found.values())
        return page

    def answer_page(
        self, page: Page, found: Iterable[Any], represent: Callable[[Any], Any] | None = None
    ) -> HttpResponse:
        """Answer with the rows `found`, which are one more than the page if another page follows.

        None stands for a row that was deleted meanwhile.
        """
        found, represent = list(found), represent or self.represent
        # The links repeat the parameters, whether they came in the query or in the body.
        kept = [(name, value) for name, value in self.parameters.items() if name not in self.ignored_parameters]
        link = page.link(self.base_url + self.request.path, kept, more=len(found) > page.size)
        rows = [represent(row) for row in found[: page.size] if row is not None]
        return self.answer(rows, headers={"Link": link})


class Listing(Paged):
    """The list of all resources of a kind. A page takes two statements: one for its ids, from an index alone, one for its rows.

    So a later page reads no row that it skips, and a row and its counts are read once.
    """

    filters: type[ListFilters]
    orders = ("id", "created_at", "updated_at", "name")
    # The order without an `order` parameter, except for a search.
    default_order: tuple[str, ...] = ("id",)

    @staticmethod
    def listed_of(account: "Account") -> QuerySet:
        """Return the listed rows, without annotations."""
        raise NotImplementedError

    @classmethod
    def rows_of(cls, account: "Account") -> QuerySet:
        """Return the rows with everything that an answer needs, for the list and for a single resource."""
        return cls.listed_of(account)

    def listed(self) -> QuerySet:
        return self.listed_of(self.account)

    def read_list(self) -> tuple[Page, str | None, ListFilters | None]:
        """Return the page, the requested order or None, and the filters or None. Raise FieldErrors with all errors."""
        parameters, errors = self.parameters, {}
        order = parameters.get("order", "").strip() or None
        if order is not None and order.removeprefix("-") not in self.orders:
            allowed = [f"{sign}{name}" for name in self.orders for sign in ("", "-")]
            errors["order"] = FieldError("order", f"is not one of {', '.join(allowed)}", "choice")
        filters = None
        if not parameters.keys() <= {"page", "per_page", "order", *self.common_keys}:
            filters = self.filters(parameters, self.listed(), account=self.account)
            errors |= filters.find_errors()
        return self.read_page("order", *self.filters.parameters(), errors=errors), order, filters

    def known_ids(self) -> list[int] | None:
        """Return the few ids that follow from the parameters without a filter or an order; None if there are no such ids."""
        return None

    def ids(self, filters: ListFilters | None, order: str | None, *, start: int, stop: int) -> list[int]:
        """Return the ids of the rows that pass, from `start` to `stop`. A search without an `order` is ranked."""
        text = filters and filters.form.cleaned_data["q"]
        if text is None and (filters is None or not filters.are_used):
            # PostgreSQL plans a literal limit better than a parameter. Each literal makes a statement of its own, hence the maximum.
            limits = (
                {"first": stop} if not start and stop <= MAX_LITERAL_LIMIT else {"start": start, "size": stop - start}
            )
            return listed_by(type(self))(account_id=self.account.id, order=order, **limits)
        rows = filters.qs
        if rows.query.is_empty():
            return []
        with search_transaction(self.account.id, text or "") as query:
            if text is None:
                return self.filtered(filters, order, start=start, stop=stop)
            if start >= MAX_RESULTS:
                return []
            if order is None:
                return search(rows, query, listed=self.listed(), enough=stop)[start:stop]
            found = search(rows, query, listed=self.listed(), ranked=False)
            rows = self.listed().filter(id__in=found).order_by(*self.order_by(order))
            return list(rows.values_list("id", flat=True)[start:stop])

    def filtered(self, filters: ListFilters, order: str | None, *, start: int, stop: int) -> list[int]:
        """Return the ids of the rows that pass the filters, in order, from `start` to `stop`.

        PostgreSQL can read a filtered page in two ways: scan the index of the order until the page is full, or collect all rows
        that pass by the index of the filter, and sort them. It chooses as if the rows that pass were spread evenly over the list.
        For rows that are all at the end, such as those of a new colleague in a list by id, it would scan the whole list.

        So both ways have a limit here. `estimate_counts` reads the estimated number of rows from EXPLAIN. With more than
        `COMMON_ROWS`, the first `SCAN_ROWS` rows of the list are tried. If they do not fill the page, the rows that pass are collected
        and sorted, as long as there are no more than `SORT_LIMIT`. The remaining pages are left to PostgreSQL.
        """
        rows, ids = filters.qs.order_by(*self.order_by(order)), None
        if stop <= SORT_LIMIT:
            if estimate_counts(rows)[0] > COMMON_ROWS:
                # A filter by the column of the order shortens the list at its beginning.
                listed = filters.only(next(iter(self.columns(order))))
                ids = scan_in_order(rows, listed, start=start, stop=stop)
            if ids is None:
                ids = collect_and_sort(rows, start=start, stop=stop)
        return list(rows.values_list("id", flat=True)[start:stop]) if ids is None else ids

    @classmethod
    def columns(cls, order: str | None) -> dict[str, bool]:
        """Return the columns of an order, each with whether it descends. The id breaks ties."""
        terms = cls.default_order if order is None else (order, "-id" if order.startswith("-") else "id")
        return {term.removeprefix("-"): term.startswith("-") for term in terms}

    @classmethod
    def order_by(cls, order: str | None) -> list[OrderBy]:
        return [
            OrderBy(RawSQL("search_name", []) if name == "name" else F(name), descending=descending)
            for name, descending in cls.columns(order).items()
        ]

    # Last in the class: from here on, `list` is this method.
    def list(self, request) -> HttpResponse:
        ids = self.known_ids()
        if ids is not None:
            page = Page.read({})
        else:
            page, order, filters = self.read_list()
            ids = self.ids(filters, order, start=page.start, stop=page.stop)
        shown = values_query(type(self))(account_id=self.account.id, ids=ids[: page.size]) if ids else []
        place, zone = self.serializer_class.names.index("id"), self.account.zone
        rows = {values[place]: values for values in shown}
        return self.answer_page(
            page, [rows.get(id) for id in ids], lambda values: self.serializer_class.represent_values(values, zone)
        )


@cache
def listed_by(listing: type[Listing]) -> PreparedQuery:
    """Return the prepared statement for the ids of a list in an order."""

    @prepared(account_id=int, start=int, size=int)
    def listed(account_id, order, first=None, start=0, size=None):
        rows = listing.listed_of(account_of(account_id)).order_by(*listing.order_by(order))
        return rows.values_list("id", flat=True)[start : start + (first or size)]

    return listed
