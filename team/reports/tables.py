"""The table of a report: typed columns, and rows whose figures link to the rows that they count. Its chart has the same figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from math import floor, log10
from urllib.parse import urlencode

from django.db.models import TextChoices
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.account.exchange_rates import ConvertedSum
from accounts.account.models import Account
from core.pages.formatting import amount_text, date_text, number_text

# The values of `team.reports.periods.Step`, which this module does not import.
WEEK, MONTH, QUARTER = "week", "month", "quarter"
Value = str | int | float | Decimal | date | None


class ColumnKind(StrEnum):
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


class OtherTime(TextChoices):
    """The rows of a report by months that stand for other times."""

    EARLIER = "earlier", gettext_lazy("Earlier")
    LATER = "later", gettext_lazy("Later")
    NO_DATE = "no_date", gettext_lazy("No date")


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
    step: str = MONTH
    has_totals: bool = True

    def position(self, name: str) -> int:
        return next(number for number, column in enumerate(self.columns) if column.name == name)

    @property
    def currency_position(self) -> int | None:
        return next((number for number, column in enumerate(self.columns) if column.name == "currency"), None)

    def text(self, row: ReportRow, position: int) -> str:
        """Return the value in a column of a row for people. A row without a label is of the deals that nobody is responsible for."""
        column = self.columns[position]
        text = text_of(row.cells[position].value, column, self.currency_of(row), self.step)
        return text or (_("Nobody") if position == 0 else "")

    def currency_of(self, row: ReportRow) -> str:
        """Return the currency of the amounts of a row; "" if the table has no amounts."""
        return "" if self.currency_position is None else str(row.cells[self.currency_position].value)

    @property
    def currencies(self) -> list[str]:
        return sorted({currency for row in self.rows if (currency := self.currency_of(row))})

    def totals_of(self, rows: Sequence[ReportRow]) -> list[Decimal | None]:
        """Return the sum of each column with numbers or amounts, and None for the other columns."""
        return [
            sum((as_number(row.cells[position].value) for row in rows), Decimal(0))
            if column.kind in (ColumnKind.COUNT, ColumnKind.MONEY)
            else None
            for position, column in enumerate(self.columns)
        ]

    def converted(self, account: Account) -> dict[str, ConvertedSum]:
        """Return the sums of the columns with amounts over all currencies, in that of the account."""
        return {
            column.name: account.convert(
                (self.currency_of(row), as_number(row.cells[position].value)) for row in self.rows
            )
            for position, column in enumerate(self.columns)
            if column.kind == ColumnKind.MONEY
        }

    def as_objects(self, *, with_ids: bool = False) -> list[dict[str, str | int | float | Decimal | None]]:
        """Return the rows as JSON objects. A month has the format `2026-11`, a week that of its first day."""
        return [
            {
                column.name: step_code(cell.value, self.step) if isinstance(cell.value, date) else cell.value
                for column, cell in zip(self.columns, row.cells, strict=True)
            }
            | ({"id": row.id} if with_ids else {})
            for row in self.rows
        ]


def step_code(day: date, step: str) -> str:
    """Return a step of a period in JSON and CSV: `2026-11`, `2026-Q4`, or the first day of a week."""
    if step == WEEK:
        return day.isoformat()
    return f"{day:%Y}-Q{(day.month + 2) // 3}" if step == QUARTER else f"{day:%Y-%m}"


def text_of(value: Value, column: ReportColumn, currency: str, step: str = MONTH) -> str:
    """Return a value for people. `currency` is that of the row."""
    if value is None or value == "":
        return ""
    if isinstance(value, date):
        if step == QUARTER:
            return _("Q%(number)d %(year)d") % {"number": (value.month + 2) // 3, "year": value.year}
        return date_text(value, "DATE_FORMAT" if step == WEEK else "YEAR_MONTH_FORMAT")
    if isinstance(value, str):
        return str(OtherTime(value).label) if column.kind == ColumnKind.MONTH else value
    if column.kind == ColumnKind.SHARE:
        return _("%(number)s%%") % {"number": number_text(value * 100, 0)}
    if column.kind == ColumnKind.MONEY:
        return amount_text(value, currency, is_rounded=column.is_estimate)
    return number_text(value, 1 if column.kind in (ColumnKind.DAYS, ColumnKind.HOURS) else 0)


def list_path(route: str, **filters: object) -> str:
    """Return the path of a list with filters. Filters whose value is None are left out."""
    chosen = {name: value for name, value in filters.items() if value is not None}
    return reverse(route) + (f"?{urlencode(chosen)}" if chosen else "")


# The chart: bars in groups, as the numbers of an SVG drawing

# The height of the bars, and the widths of a bar, of the space between groups, and of a label with a name, in units of the drawing.
HEIGHT, BAR, GAP, NAME = 180, 22, 18, 84
LEFT, TOP, BOTTOM = 64, 24, 44
MAX_GROUPS = 40
# The number of characters of a name below its bars.
MAX_LABEL_LENGTH = 11
STEPS = 4


@dataclass(frozen=True)
class Bar:
    x: int
    y: int
    height: int
    # The number of the series, from 1, which selects the colour.
    series: int
    title: str


@dataclass(frozen=True)
class BarGroup:
    label: str
    # The middle of the group.
    x: int
    bars: list[Bar]
    # What is shown and read while the group has the focus: the values, and these with their names.
    values: str
    title: str
    # The left edge of the group, whose whole width is the target of the pointer.
    left: int


@dataclass(frozen=True)
class Chart:
    width: int
    height: int
    # The y of the axis, and that of the labels of the groups.
    base: int
    label_y: int
    left: int
    group_width: int
    groups: list[BarGroup]
    # The y and the label of each horizontal line of the scale.
    lines: list[tuple[int, str]]
    legend: list[tuple[int, str | Promise]]
    # The y of a goal for each group, and its label.
    goal: tuple[int, str] | None = None


def round_up(value: Decimal) -> Decimal:
    """Return the next higher value that is easy to read as the end of a scale: 1, 2, 4, 8 or 10 times a power of ten."""
    if value <= 0:
        return Decimal(STEPS)
    power = Decimal(10) ** floor(log10(value))
    return next(step * power for step in map(Decimal, (1, 2, 4, 8, 10)) if value <= step * power)


def short_number(value: Decimal) -> str:
    """Return a number for the scale: 12 thousand is "12 k" and 3 million is "3 M"."""
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{number_text(value / size)}\N{NO-BREAK SPACE}{unit}"
    return number_text(value.to_integral_value(ROUND_CEILING) if value >= STEPS else value)


def chart_of(table: Table, rows: Sequence[ReportRow], goal: Decimal | None = None) -> Chart | None:
    """Return the chart of some rows of a table, with a line for a goal. Return None if there is nothing to draw."""
    rows = rows[:MAX_GROUPS]
    positions = [table.position(name) for name in table.series]
    numbers = [as_number(row.cells[position].value) for row in rows for position in positions]
    if not any(numbers):
        return None
    top = round_up(max([*numbers, goal or Decimal(0)]))
    bars_width = BAR * len(positions)
    group_width = max(bars_width + GAP, 0 if table.columns[0].kind is ColumnKind.MONTH else NAME)
    groups = []
    for number, row in enumerate(rows):
        x = LEFT + number * group_width + (group_width - bars_width) // 2
        label = table.text(row, 0)
        bars, values = [], [table.text(row, position) or "-" for position in positions]
        for shift, position in enumerate(positions):
            height = round(as_number(row.cells[position].value) / top * HEIGHT)
            title = f"{label}, {table.columns[position].label}: {table.text(row, position)}"
            bars.append(Bar(x + BAR * shift, TOP + HEIGHT - height, height, shift + 1, title))
        named = (f"{table.columns[position].label} {value}" for position, value in zip(positions, values, strict=True))
        groups.append(
            BarGroup(
                label=short_label(row.cells[0].value, label, table.step),
                x=x + bars_width // 2,
                bars=bars,
                values=" / ".join(values),
                title=f"{label}: {', '.join(named)}",
                left=LEFT + number * group_width,
            )
        )
    lines = [(TOP + HEIGHT - HEIGHT * step // STEPS, short_number(top * step / STEPS)) for step in range(STEPS + 1)]
    return Chart(
        width=LEFT + len(rows) * group_width,
        height=TOP + HEIGHT + BOTTOM,
        base=TOP + HEIGHT,
        label_y=TOP + HEIGHT + 20,
        left=LEFT,
        group_width=group_width,
        groups=groups,
        lines=lines,
        legend=[(number, table.columns[position].label) for number, position in enumerate(positions, start=1)],
        goal=None if goal is None else (TOP + HEIGHT - round(goal / top * HEIGHT), number_text(goal)),
    )


def as_number(value: Value) -> Decimal:
    return Decimal(str(value)) if isinstance(value, int | float | Decimal) else Decimal(0)


def short_label(value: Value, label: str, step: str = MONTH) -> str:
    """Return the label of a group, which has room for few characters: `11/26` for November 2026."""
    if isinstance(value, date):
        if step == WEEK:
            return f"{value:%d/%m}"
        if step == QUARTER:
            return f"Q{(value.month + 2) // 3}/{value:%y}"
        return f"{value:%m/%y}"
    return Truncator(label).chars(MAX_LABEL_LENGTH)
