"""Lists of generation B: pages, orders, filters and searches, the same for every resource (decisions, section 4)."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from django.db import connection
from django.db.models import QuerySet
from django.db.models.expressions import F, OrderBy, RawSQL
from django.http import HttpResponse
from rest_framework.exceptions import ValidationError

from core.api.filters import ListFilters
from core.api.paging import Page
from core.api.resources import shown_by
from core.db.prepared import Prepared, prepared
from core.db.tenancy import account_of
from core.search.queries import MOST, front, guessed, indexed, search

if TYPE_CHECKING:
    from accounts.account import Account

# How many rows a page of a JSON list may have; and up to how many the limit is written into the statement.
LARGEST_PAGE, MOST_LITERAL = 1000, 101
# What more rows than these have is met among so many rows of a list; on a page further down, if every fourth row has it.
COMMON, FRONT, SPARSE = 5000, 10_000, 4
# So many rows that pass are collected and sorted.
FEW = 50_000


def in_front(rows: QuerySet, listed: QuerySet, *, start: int, stop: int) -> list[int] | None:
    """The ids of `rows` from `start` to `stop`, if they are all met near the beginning of what is `listed`, in its order."""
    sql, parameters = rows.values_list("id", flat=True)[start:stop].query.sql_with_params()
    beginning, before = front(listed.order_by(*rows.query.order_by), FRONT + SPARSE * stop)
    with connection.cursor() as cursor:
        cursor.execute(f"WITH {beginning} {sql}", [*before, *parameters])
        ids = [row[0] for row in cursor.fetchall()]
    return ids if len(ids) == stop - start else None


def among_few(rows: QuerySet, *, start: int, stop: int) -> list[int] | None:
    """The ids of `rows`, which are in order, from `start` to `stop`; None if there are more than a FEW.

    They are planned as if all of them were wanted (MATERIALIZED), and cut off where they are not few.
    """
    terms = {f"term{number}": term.expression for number, term in enumerate(rows.query.order_by)}
    directions = ", ".join(
        f"{name} DESC" if term.descending else name for name, term in zip(terms, rows.query.order_by, strict=True)
    )
    sql, parameters = rows.order_by().values("id", **terms).query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH found AS MATERIALIZED ({sql}), few AS (SELECT * FROM found LIMIT %s),
            page AS (SELECT id, {", ".join(terms)} FROM few ORDER BY {directions} LIMIT %s OFFSET %s)
            SELECT (SELECT count(*) FROM few), (SELECT array_agg(id ORDER BY {directions}) FROM page)
            """,  # noqa: S608
            [*parameters, FEW + 1, stop - start, start],
        )
        number, ids = cursor.fetchone()
    return None if number > FEW else ids or []


class Paged:
    """What all lists have: a page that is asked for, parameters that are refused, and links to the pages beside.

    Comments and the trash are read in one order and need no more; resources have a `Listing`.
    """

    # How many rows a page may have.
    largest_page = LARGEST_PAGE

    def read_page(self, *others: str, faults: dict[str, Any] | None = None) -> Page:
        """The page that is asked for. `others` are the parameters there are besides; `name[key]` is one with any key.

        Raises ValidationError for all that is wrong, the `faults` found already among it.
        """
        found = self.ignore_parameters(["page", "per_page", *others])
        # A blank one means the default.
        given = {name: text for name in ("page", "per_page") if (text := self.parameters.get(name, "").strip())}
        try:
            page = Page.read(given, largest=self.largest_page)
        except ValidationError as error:
            found |= error.detail
        found |= faults or {}
        if found:
            raise ValidationError(found)
        return page

    def answer_page(
        self, page: Page, found: Iterable[Any], represent: Callable[[Any], Any] | None = None
    ) -> HttpResponse:
        """The page of the rows `found` from its start to its stop. None stands for one that is gone meanwhile."""
        found, represent = list(found), represent or self.represent
        # The links repeat what the list was asked for, wherever that was said.
        kept = [(name, value) for name, value in self.parameters.items() if name not in self.ignored_parameters]
        link = page.link(self.base_url + self.request.path, kept, more=len(found) > page.size)
        rows = [represent(row) for row in found[: page.size] if row is not None]
        return self.answer(rows, headers={"Link": link})


class Listing(Paged):
    """`GET` of all the resources of a kind. A page takes two statements: its ids, from an index alone, and its rows.

    The ids come first so that a page far down the list reads no row that it skips, and so that a row, with what is counted
    for it, is read once.
    """

    filters: type[ListFilters]
    orders = ("id", "created_at", "updated_at", "name")
    # What no order asked for means, unless it is a search.
    default_order: tuple[str, ...] = ("id",)

    @staticmethod
    def listed_of(account: "Account") -> QuerySet:
        """What is listed, bare."""
        raise NotImplementedError

    @classmethod
    def rows_of(cls, account: "Account") -> QuerySet:
        """The rows with all that they are answered with; also those that a path may name."""
        return cls.listed_of(account)

    def listed(self) -> QuerySet:
        return self.listed_of(self.account)

    def read_list(self) -> tuple[Page, str | None, ListFilters | None]:
        """The page, the order if one is asked for, and the filters, if any. Raises ValidationError for all that is wrong."""
        parameters, faults = self.parameters, {}
        order = parameters.get("order", "").strip() or None
        if order is not None and order.removeprefix("-") not in self.orders:
            allowed = [f"{sign}{name}" for name in self.orders for sign in ("", "-")]
            faults["order"] = [f"is not one of {', '.join(allowed)}"]
        filters = None
        if not parameters.keys() <= {"page", "per_page", "order", *self.common_keys}:
            filters = self.filters(parameters, self.listed(), account=self.account)
            faults |= filters.faults()
        return self.read_page("order", *self.filters.parameters(), faults=faults), order, filters

    def known_ids(self) -> list[int] | None:
        """The few ids that the parameters come to by themselves, where nothing has to be filtered or ordered."""
        return None

    def ids(self, filters: ListFilters | None, order: str | None, *, start: int, stop: int) -> list[int]:
        """The ids of the rows that pass, from `start` to `stop`. A search is in its own order, if no other is asked for."""
        text = filters and filters.form.cleaned_data["q"]
        if text is None and (filters is None or not filters.are_used):
            # PostgreSQL plans a literal limit better than a parameter. Each literal is a statement of its own, so they are few.
            limits = {"first": stop} if not start and stop <= MOST_LITERAL else {"start": start, "size": stop - start}
            return listed_by(type(self))(account_id=self.account.id, order=order, **limits)
        rows = filters.qs
        if rows.query.is_empty():
            return []
        with indexed(self.account.id, text or "") as query:
            if text is None:
                return self.filtered(filters, order, start=start, stop=stop)
            if start >= MOST:
                return []
            if order is None:
                return search(rows, query, listed=self.listed(), enough=stop)[start:stop]
            found = search(rows, query, listed=self.listed(), ranked=False)
            rows = self.listed().filter(id__in=found).order_by(*self.order_by(order))
            return list(rows.values_list("id", flat=True)[start:stop])

    def filtered(self, filters: ListFilters, order: str | None, *, start: int, stop: int) -> list[int]:
        """The ids of the rows that pass, in order, from `start` to `stop`.

        What many rows have is met soon, going through the list in its order; what few have is found fast by the index that
        is for it. Which it is the database can only guess, and it takes them to be spread evenly: for the latest of a
        million, it would go through them all. So either is tried no further than it is cheap. What is left is what many
        have, far from the beginning of the list.
        """
        rows, ids = filters.qs.order_by(*self.order_by(order)), None
        if stop <= FEW:
            if guessed(rows)[0] > COMMON:
                # The list begins where the filter by the column that it is in the order of lets it.
                listed = filters.only(next(iter(self.columns(order))))
                ids = in_front(rows, listed, start=start, stop=stop)
            if ids is None:
                ids = among_few(rows, start=start, stop=stop)
        return list(rows.values_list("id", flat=True)[start:stop]) if ids is None else ids

    @classmethod
    def columns(cls, order: str | None) -> dict[str, bool]:
        """The columns of an order, and whether they descend; ties are broken by the id."""
        terms = cls.default_order if order is None else (order, "-id" if order.startswith("-") else "id")
        return {term.removeprefix("-"): term.startswith("-") for term in terms}

    @classmethod
    def order_by(cls, order: str | None) -> list[OrderBy]:
        return [
            OrderBy(RawSQL("search_name", []) if name == "name" else F(name), descending=descending)
            for name, descending in cls.columns(order).items()
        ]

    # Last in the class, where `list` is this from here on.
    def list(self, request) -> HttpResponse:
        ids = self.known_ids()
        if ids is not None:
            page = Page.read({})
        else:
            page, order, filters = self.read_list()
            ids = self.ids(filters, order, start=page.start, stop=page.stop)
        shown = shown_by(type(self))(account_id=self.account.id, ids=ids[: page.size]) if ids else []
        place, zone = self.serializer_class.names.index("id"), self.account.zone
        rows = {values[place]: values for values in shown}
        return self.answer_page(
            page, [rows.get(id) for id in ids], lambda values: self.serializer_class.show(values, zone)
        )


@cache
def listed_by(listing: type[Listing]) -> Prepared:
    """The ids of what is listed, in an order."""

    @prepared(account_id=int, start=int, size=int)
    def listed(account_id, order, first=None, start=0, size=None):
        rows = listing.listed_of(account_of(account_id)).order_by(*listing.order_by(order))
        return rows.values_list("id", flat=True)[start : start + (first or size)]

    return listed
