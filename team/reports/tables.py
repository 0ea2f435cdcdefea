"""The table of a report: typed columns, and rows whose figures link to the rows that they count."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import formats
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.pages.formatting import amount_text, number_text

Value = str | int | float | Decimal | date | None


class ColumnKind(StrEnum):
    """The kind of the values of a column."""

    TEXT = "text"
    # The first day of a month.
    MONTH = "month"
    COUNT = "count"
    # An amount in the currency of the row.
    MONEY = "money"
    # A part of a whole, from 0 to 1.
    SHARE = "share"
    DAYS = "days"
    HOURS = "hours"


# The rows of a report by months that stand for other times.
EARLIER, LATER, NO_DATE = "earlier", "later", "no_date"
TIMES = {EARLIER: gettext_lazy("Earlier"), LATER: gettext_lazy("Later"), NO_DATE: gettext_lazy("No date")}
NUMBERS = (ColumnKind.COUNT, ColumnKind.MONEY, ColumnKind.SHARE, ColumnKind.DAYS, ColumnKind.HOURS)


@dataclass(frozen=True)
class ReportColumn:
    # The name in JSON and CSV.
    name: str
    label: str | Promise
    kind: ColumnKind
    # True for an amount that is rounded to the decimal places of its currency.
    is_estimate: bool = False

    @property
    def is_number(self) -> bool:
        return self.kind in NUMBERS


@dataclass(frozen=True)
class ReportCell:
    value: Value
    # The path of the rows that the value counts; empty if there is no such list.
    path: str = ""


@dataclass(frozen=True)
class ReportRow:
    cells: Sequence[ReportCell]
    # The id of the status, the user or the suggestion of the row; None for a period, and for deals for which nobody is responsible.
    id: int | None = None


def make_row(*values: Value | ReportCell, id: int | None = None) -> ReportRow:
    return ReportRow([value if isinstance(value, ReportCell) else ReportCell(value) for value in values], id)


@dataclass(frozen=True)
class Table:
    """The rows of a report. The first column has their labels. If there are amounts, the column `currency` has the currency of a row."""

    columns: Sequence[ReportColumn]
    rows: Sequence[ReportRow]
    # The names of the columns that the chart draws for each row, of the rows in one currency.
    series: Sequence[str]

    def position(self, name: str) -> int:
        return next(number for number, column in enumerate(self.columns) if column.name == name)

    @property
    def currency_position(self) -> int | None:
        return next((number for number, column in enumerate(self.columns) if column.name == "currency"), None)

    def text(self, row: ReportRow, position: int) -> str:
        """Return the value in a column of a row for people. A row without a label is of the deals that nobody is responsible for."""
        column = self.columns[position]
        text = text_of(row.cells[position].value, column, self.currency_of(row))
        return text or (_("Nobody") if position == 0 else "")

    def currency_of(self, row: ReportRow) -> str:
        """Return the currency of the amounts of a row; "" if the table has no amounts."""
        return "" if self.currency_position is None else str(row.cells[self.currency_position].value)

    @property
    def currencies(self) -> list[str]:
        return sorted({currency for row in self.rows if (currency := self.currency_of(row))})

    def as_objects(self, *, with_ids: bool = False) -> list[dict[str, str | int | float | Decimal | None]]:
        """Return the rows as JSON objects. A month has the format `2026-11`."""
        return [
            {
                column.name: f"{cell.value:%Y-%m}" if isinstance(cell.value, date) else cell.value
                for column, cell in zip(self.columns, row.cells, strict=True)
            }
            | ({"id": row.id} if with_ids else {})
            for row in self.rows
        ]


def text_of(value: Value, column: ReportColumn, currency: str) -> str:
    """Return a value for people. `currency` is that of the row."""
    if value is None or value == "":
        return ""
    if isinstance(value, date):
        return formats.date_format(value, "YEAR_MONTH_FORMAT")
    if isinstance(value, str):
        return str(TIMES[value]) if column.kind == ColumnKind.MONTH else value
    if column.kind == ColumnKind.SHARE:
        return _("%(number)s%%") % {"number": number_text(value * 100, 0)}
    if column.kind == ColumnKind.MONEY:
        return amount_text(value, currency, is_rounded=column.is_estimate)
    return number_text(value, 1 if column.kind in (ColumnKind.DAYS, ColumnKind.HOURS) else 0)


def list_path(route: str, **filters: object) -> str:
    """Return the path of a list with filters. Filters whose value is None are left out."""
    chosen = {name: value for name, value in filters.items() if value is not None}
    return reverse(route) + (f"?{urlencode(chosen)}" if chosen else "")
