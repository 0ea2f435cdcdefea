"""The chart of a report: bars in groups, as the numbers of an SVG drawing. The table beside it has the same figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from math import floor, log10

from django.utils.functional import Promise
from django.utils.text import Truncator

from core.pages.formatting import number_text
from team.reports.tables import ColumnKind, ReportRow, Table, Value

# The height of the bars, and the widths of a bar, of the space between groups, and of a label with a name, in units of the drawing.
HEIGHT, BAR, GAP, NAME = 180, 22, 18, 84
LEFT, TOP, BOTTOM = 64, 12, 44
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


@dataclass(frozen=True)
class Chart:
    width: int
    height: int
    # The y of the axis, and that of the labels of the groups.
    base: int
    label_y: int
    left: int
    groups: list[BarGroup]
    # The y and the label of each horizontal line of the scale.
    lines: list[tuple[int, str]]
    legend: list[tuple[int, str | Promise]]


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


def chart_of(table: Table, rows: Sequence[ReportRow]) -> Chart | None:
    """Return the chart of some rows of a table. Return None if there is nothing to draw."""
    rows = rows[:MAX_GROUPS]
    positions = [table.position(name) for name in table.series]
    numbers = [as_number(row.cells[position].value) for row in rows for position in positions]
    if not any(numbers):
        return None
    top = round_up(max(numbers))
    bars_width = BAR * len(positions)
    group_width = max(bars_width + GAP, 0 if table.columns[0].kind is ColumnKind.MONTH else NAME)
    groups = []
    for number, row in enumerate(rows):
        x = LEFT + number * group_width + (group_width - bars_width) // 2
        label = table.text(row, 0)
        bars = []
        for shift, position in enumerate(positions):
            height = round(as_number(row.cells[position].value) / top * HEIGHT)
            title = f"{label}, {table.columns[position].label}: {table.text(row, position)}"
            bars.append(Bar(x + BAR * shift, TOP + HEIGHT - height, height, shift + 1, title))
        groups.append(BarGroup(short_label(row.cells[0].value, label), x + bars_width // 2, bars))
    lines = [(TOP + HEIGHT - HEIGHT * step // STEPS, short_number(top * step / STEPS)) for step in range(STEPS + 1)]
    return Chart(
        width=LEFT + len(rows) * group_width,
        height=TOP + HEIGHT + BOTTOM,
        base=TOP + HEIGHT,
        label_y=TOP + HEIGHT + 20,
        left=LEFT,
        groups=groups,
        lines=lines,
        legend=[(number, table.columns[position].label) for number, position in enumerate(positions, start=1)],
    )


def as_number(value: Value) -> Decimal:
    return Decimal(str(value)) if isinstance(value, int | float | Decimal) else Decimal(0)


def short_label(value: Value, label: str) -> str:
    """Return the label of a group, which has room for few characters: `11/26` for November 2026."""
    if hasattr(value, "month"):
        return f"{value:%m/%y}"
    return Truncator(label).chars(MAX_LABEL_LENGTH)
