"""The canonical file of a table, and the statistics of its columns.

Each row after the header is a line with a JSON list of texts. An empty row is an empty list, so that the number of a line gives the number
of the row. A list can be shorter than the header. It is longer if the row has more cells than the header.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import orjson

from team.spreadsheets.values import EMAIL, NARROWER_TYPES, NUMBER_FORMATS, URL, VALUE_TYPES

MAX_ROWS = 1_000_000
MAX_COLUMNS = 1_000
MAX_CELL_LENGTH = 65_536
MAX_HEADER_LENGTH = 255
MAX_SAMPLES = 3
MAX_DISTINCT = 50
# A longer text is not a value to choose from, and is a number or a date in no format.
MAX_TYPED_LENGTH = 200
# The rows that detection reads.
SAMPLE_ROWS = 100
# The cells that are counted together, and the texts of all columns that are known to fit the types of their columns.
CHUNK_CELLS, KNOWN_TEXTS = 40_000, 200_000
# The size of the lines that are written together.
CHUNK_BYTES = 4_000_000
_SURROGATE = re.compile("[\ud800-\udfff]")


class Refused(Exception):
    """An error of a file. `reading` turns it into a `SpreadsheetError` with the message of the code."""

    def __init__(self, code: str, **params: object) -> None:
        super().__init__(code)
        self.code, self.params = code, params


def column_letters(index: int) -> str:
    """Return the name of a column in spreadsheet programs: `A` for 0, `AA` for 26."""
    before, last = divmod(index, 26)
    return (column_letters(before - 1) if before else "") + chr(ord("A") + last)


@dataclass
class ColumnStatistics:
    """What the filled cells of a column have in common."""

    filled: int = 0
    max_length: int = 0
    samples: list[str] = field(default_factory=list)
    # The first distinct values, and whether there are more.
    distinct: list[str] = field(default_factory=list)
    more: bool = False
    # The names of `VALUE_TYPES` that do not fit all values, each with the first value that does not fit and the number of its row.
    misfits: dict[str, tuple[str, int]] = field(default_factory=dict)

    def fits(self, value_type: str) -> bool:
        return value_type not in self.misfits


@dataclass
class Sheet:
    """A table in a canonical file."""

    header: list[str]
    # The number of the row in the first line of the canonical file.
    first_row: int
    # The number of rows that are not empty.
    rows: int
    columns: list[ColumnStatistics]
    # Codes of messages with their parameters.
    warnings: list[dict[str, Any]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        sheet = cls(**{**data, "columns": [ColumnStatistics(**column) for column in data["columns"]]})
        for column in sheet.columns:
            column.misfits = {name: (text, row) for name, (text, row) in column.misfits.items()}
        return sheet


class SheetRow(NamedTuple):
    number: int
    # As many texts as the header has, unless `is_too_wide`.
    cells: list[str]
    is_too_wide: bool
    # Where the next row begins in the canonical file.
    end: int


def read_rows(
    lines: Iterable[bytes], sheet: Sheet, *, offset: int = 0, number: int | None = None
) -> Iterator[SheetRow]:
    """Return the rows of a canonical file that are not empty.

    `lines` begin at `offset`, with the row `number`. To continue after a row, pass the lines from its `end`, and its `number` plus 1.
    """
    width = len(sheet.header)
    for row, line in enumerate(lines, sheet.first_row if number is None else number):
        offset += len(line)
        cells: list[str] = orjson.loads(line)
        if cells:
            is_too_wide = any(cells[width:])
            kept = cells if is_too_wide else cells[:width]
            yield SheetRow(row, kept + [""] * (width - len(kept)), is_too_wide, offset)


def looks_like_header(cells: Sequence[str]) -> bool:
    """Return whether the first row can be a header: it has no address, and not only numbers."""
    filled = [text.strip() for text in cells if text.strip()]
    numbers = [format.pattern for format in NUMBER_FORMATS.values()]
    dates = [matches for name, matches in VALUE_TYPES.items() if name.startswith("date:")]
    if all(any(number.fullmatch(text) for number in numbers) for text in filled):
        return False
    return not any(
        EMAIL.fullmatch(text) or (URL.fullmatch(text) and "/" in text) or any(matches(text) for matches in dates)
        for text in filled
        if len(text) <= MAX_TYPED_LENGTH and not text.isdecimal()
    )


class _Column:
    """The statistics of a column while its rows are read."""

    def __init__(self, known: int) -> None:
        self.statistics = ColumnStatistics()
        self.candidates = list(VALUE_TYPES)
        self.max_known = known
        # Texts that fit all candidates.
        self.known: set[str] = set()

    def add(self, index: int, texts: Sequence[str], numbers: Sequence[int]) -> None:
        statistics = self.statistics
        longest = max(map(len, texts))
        if longest > MAX_CELL_LENGTH:
            row = numbers[next(place for place, text in enumerate(texts) if len(text) > MAX_CELL_LENGTH)]
            raise Refused("cell_too_long", row=row, column=column_letters(index), limit=MAX_CELL_LENGTH)
        statistics.max_length = max(statistics.max_length, longest)
        statistics.filled += len(texts) - texts.count("")
        if not self.candidates and statistics.more:
            return
        fresh = [text for text in dict.fromkeys(texts) if text and text not in self.known]
        if not statistics.more:
            self._add_distinct(fresh)
        if self.candidates and fresh:
            self._test(fresh, texts, numbers)

    def _add_distinct(self, fresh: list[str]) -> None:
        statistics = self.statistics
        for text in fresh:
            if len(statistics.samples) < MAX_SAMPLES and text[:MAX_TYPED_LENGTH] not in statistics.samples:
                statistics.samples.append(text[:MAX_TYPED_LENGTH])
            if text in statistics.distinct:
                continue
            if len(statistics.distinct) == MAX_DISTINCT or len(text) > MAX_TYPED_LENGTH:
                statistics.more = True
                return
            statistics.distinct.append(text)

    def _test(self, fresh: list[str], texts: Sequence[str], numbers: Sequence[int]) -> None:
        stripped = [text.strip() if len(text) <= MAX_TYPED_LENGTH else "" for text in fresh]
        misfits = self.statistics.misfits
        for name in self.candidates:
            matches, narrower = VALUE_TYPES[name], NARROWER_TYPES.get(name)
            # Until a value is not of the narrower type, all values are of both.
            if (narrower is None or narrower in misfits) and not all(map(matches, stripped)):
                text = next(text for text, value in zip(fresh, stripped, strict=True) if not matches(value))
                misfits[name] = (text[:MAX_TYPED_LENGTH], numbers[texts.index(text)])
        self.candidates = [name for name in self.candidates if name not in misfits]
        if len(self.known) < self.max_known:
            self.known.update(fresh)


class SheetWriter:
    """Writes the canonical file of a table in one pass."""

    def __init__(self, file: BinaryIO, *, has_header: bool) -> None:
        self.file, self.has_header = file, has_header
        self.sheet = Sheet([], 0, 0, [])
        self.columns: list[_Column] = []
        self.lines: list[bytes] = []
        self.chunk: list[list[str]] = []
        self.numbers: list[int] = []
        self.size = 0

    def write(self, records: Iterable[list[str]]) -> Sheet:
        """Write the records, of which the first is row 1. Raise Refused for an error."""
        sheet, empty = self.sheet, 0
        for number, cells in enumerate(records, 1):
            if not any(cells):
                # Empty rows at the end are left out.
                empty += 1
                continue
            if not self.columns:
                empty = 0
                sheet.first_row = number + self.has_header
                self._start(number, cells)
                if self.has_header:
                    continue
            if empty:
                self.lines.append(b"[]\n" * empty)
                empty = 0
            self._add(number, cells)
        if not self.columns:
            raise Refused("empty")
        self._flush()
        while len(sheet.header) > 1 and not sheet.header[-1] and not self.columns[-1].statistics.filled:
            sheet.header.pop()
            self.columns.pop()
        sheet.columns = [column.statistics for column in self.columns]
        return sheet

    def _start(self, number: int, cells: list[str]) -> None:
        if place := undecodable(number, cells):
            raise Refused("undecodable", **place)
        if len(cells) > MAX_COLUMNS and any(cells[MAX_COLUMNS:]):
            raise Refused("too_many_columns", columns=len(cells), limit=MAX_COLUMNS)
        cells = cells[:MAX_COLUMNS]
        names = [" ".join(text.split())[:MAX_HEADER_LENGTH] if self.has_header else "" for text in cells]
        for name in [name for name, number in Counter(names).items() if name and number > 1]:
            letters = ", ".join(column_letters(index) for index, each in enumerate(names) if each == name)
            self.sheet.warnings.append({"code": "duplicate_header", "name": name, "columns": letters})
        self.sheet.header = names
        known = max(MAX_DISTINCT, KNOWN_TEXTS // len(names))
        self.columns = [_Column(known) for _name in names]

    def _add(self, number: int, cells: list[str]) -> None:
        width = len(self.columns)
        self.sheet.rows += 1
        if self.sheet.rows > MAX_ROWS:
            raise Refused("too_many_rows", limit=MAX_ROWS)
        if len(cells) != width:
            while not cells[-1]:
                cells.pop()
            if len(cells) > width:
                self._check_wide(number, cells)
        try:
            line = orjson.dumps(cells, option=orjson.OPT_APPEND_NEWLINE)
        except orjson.JSONEncodeError:
            raise Refused("undecodable", **undecodable(number, cells) or {}) from None
        self.lines.append(line)
        self.size += len(line)
        self.chunk.append(cells)
        self.numbers.append(number)
        if len(self.chunk) * width >= CHUNK_CELLS or self.size >= CHUNK_BYTES:
            self._flush()

    def _check_wide(self, number: int, cells: list[str]) -> None:
        """Check the limits of a row with more cells than the header. The first such row is a warning."""
        width = len(self.columns)
        if len(cells) > MAX_COLUMNS:
            raise Refused("too_many_columns", columns=len(cells), limit=MAX_COLUMNS, row=number)
        for index, text in enumerate(cells[width:], width):
            if len(text) > MAX_CELL_LENGTH:
                raise Refused("cell_too_long", row=number, column=column_letters(index), limit=MAX_CELL_LENGTH)
        if all(warning["code"] != "too_many_cells" for warning in self.sheet.warnings):
            warning = {"code": "too_many_cells", "row": number, "cells": len(cells), "limit": width}
            self.sheet.warnings.append(warning)

    def _flush(self) -> None:
        width = len(self.columns)
        short = [""] * width
        full = (cells if len(cells) >= width else cells + short[len(cells) :] for cells in self.chunk)
        for index, (column, texts) in enumerate(zip(self.columns, zip(*full, strict=False), strict=False)):
            column.add(index, texts, self.numbers)
        self.file.writelines(self.lines)
        self.lines, self.chunk, self.numbers, self.size = [], [], [], 0


def undecodable(number: int, cells: Sequence[str]) -> dict[str, Any] | None:
    """Return the place of the first byte that the encoding does not have, if any. Such a byte is read as a lone surrogate."""
    for index, text in enumerate(cells):
        if match := not text.isascii() and _SURROGATE.search(text):
            return {"row": number, "column": column_letters(index), "byte": f"0x{ord(match[0]) & 0xFF:02X}"}
    return None


def write_sheet(path: Path, records: Iterable[list[str]], *, has_header: bool) -> Sheet:
    """Write the canonical file of a table at a path. Raise Refused for an error."""
    with path.open("wb") as file:
        return SheetWriter(file, has_header=has_header).write(records)
