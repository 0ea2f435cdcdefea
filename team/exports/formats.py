"""The formats of exported files: CSV (RFC 4180) and XLSX, and how each value is written, so that the import reads the same value back.

| value | CSV | XLSX |
|---|---|---|
| text | as it is, or guarded (`guard`) | a text. It is never a formula, so it is not guarded, and the import does not unguard it |
| number, amount | without grouping, with the decimal sign of the file | a number; a text in the format of the APIs if a number of XLSX would be rounded |
| date | `2026-11-21` | a date; a text before 1900 |
| time | `2026-11-21 12:00:00` in the time zone of the account | a date with its time, in the same zone |
| yes or no | the words of the language of the file | the same words |
| tags, choices | separated by commas (`join_list`, `split_list`) | the same text |

`core.http.spreadsheets.unguard` reverses `guard` for every text, and changes no number and no telephone number. A telephone number of a field of this type is not guarded,
so that other programs can dial and import it.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from django.db.models import TextChoices
from django.utils import formats
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from xlsxwriter import Workbook

from core.http.spreadsheets import guard
from core.numbers import plain_text
from core.pages.formatting import amount_text, number_text

# Spreadsheet programs recognize UTF-8 by this mark.
BYTE_ORDER_MARK = "\ufeff"
# A telephone number in the international format, which may have an extension. It has no letters that could name a function or a cell.
PHONE_NUMBER = re.compile(r"\s*\+\s*[0-9(][0-9\s()./\-\u2011]*(?:(?:ext|x|wew)\.?\s?[0-9]+)?\s*", re.IGNORECASE)
# Limits of a sheet: its rows with the heading, and the UTF-16 code units of a cell.
MAX_SHEET_ROWS, MAX_CELL_LENGTH = 1_048_576, 32_767
MAX_TITLE_LENGTH = 31
# The end of a text that was cut, and the maximum number of cells that are listed.
CUT, MAX_CUT_CELLS = "…", 100
# Days of earlier years have no number in XLSX.
FIRST_YEAR = 1900

# A number of XLSX has this number of exact digits.
MAX_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Amount:
    value: Decimal
    currency: str


# A value of a cell. A time has no time zone.
Value = str | int | Decimal | Amount | bool | date | None
# Rows of values, in chunks.
Chunks = Iterable[list[list[Any]]]


class PhoneText(str):
    """The text of a field for telephone numbers."""

    __slots__ = ()


class Format(TextChoices):
    CSV = "csv", gettext_lazy("CSV")
    XLSX = "xlsx", gettext_lazy("Excel (XLSX)")


CONTENT_TYPES = {
    Format.CSV: "text/csv; charset=utf-8",
    Format.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


class Separator(TextChoices):
    COMMA = "comma", gettext_lazy("Comma")
    SEMICOLON = "semicolon", gettext_lazy("Semicolon")
    TAB = "tab", gettext_lazy("Tab")


class DecimalSign(TextChoices):
    POINT = "point", gettext_lazy("Point")
    COMMA = "comma", gettext_lazy("Comma")


SEPARATORS = {Separator.COMMA: ",", Separator.SEMICOLON: ";", Separator.TAB: "\t"}
DECIMAL_SIGNS = {DecimalSign.POINT: ".", DecimalSign.COMMA: ","}


def join_list(items: Sequence[str]) -> str:
    """Return the items in one text. One that a comma would split is in quotes."""
    needs_quotes = [item != item.strip() or not item or any(sign in item for sign in ',"\r\n') for item in items]
    quoted = (
        '"' + item.replace('"', '""') + '"' if quote else item for item, quote in zip(items, needs_quotes, strict=True)
    )
    return ", ".join(quoted)


def split_list(text: str) -> list[str]:
    """Return the items of a text of `join_list`."""
    return [item for row in csv.reader(io.StringIO(text, newline=""), skipinitialspace=True) for item in row]


@dataclass(frozen=True)
class CSVFormat:
    """The separator and the decimal sign of a file. The defaults are those of spreadsheet programs in the active language."""

    separator: str = ""
    decimal_sign: str = ""

    def write(self, headings: Sequence[str], chunks: Chunks) -> Iterator[bytes]:
        """Return the file in chunks."""
        # `writerow` returns what `write` of the file returns.
        row: Callable[[Iterable[str]], str] = csv.writer(Echo(), delimiter=self.delimiter).writerow
        yield (BYTE_ORDER_MARK + row(map(guard, headings))).encode()
        for chunk in chunks:
            yield "".join([row(map(self.text, values)) for values in chunk]).encode()

    @property
    def delimiter(self) -> str:
        default = Separator.SEMICOLON if language_decimal_sign() == "," else Separator.COMMA
        return SEPARATORS[Separator(self.separator or default)]

    def text(self, value: Value) -> str:
        """Return a value as a spreadsheet program reads it."""
        if isinstance(value, str):
            return guard(value) if value and not is_phone_number(value) else value
        if value is None:
            return ""
        if isinstance(value, bool):
            return _("Yes") if value else _("No")
        if isinstance(value, datetime):
            return value.strftime("%Y-%m-%d %H:%M:%S")
        if isinstance(value, date):
            return value.isoformat()
        if isinstance(value, Amount):
            text = amount_text(value.value, value.currency, is_grouped=False)
        else:
            text = number_text(value, is_grouped=False)
        sign = DECIMAL_SIGNS[DecimalSign(self.decimal_sign)] if self.decimal_sign else ""
        return text.replace(language_decimal_sign(), sign) if sign else text


def is_phone_number(text: str) -> bool:
    return isinstance(text, PhoneText) and PHONE_NUMBER.fullmatch(text) is not None


def language_decimal_sign() -> str:
    return str(formats.get_format("DECIMAL_SEPARATOR"))


def is_exact(number: int | Decimal) -> bool:
    """Return whether a cell of XLSX holds the number without rounding."""
    return len(str(number)) <= MAX_DIGITS or len(Decimal(number).normalize().as_tuple().digits) <= MAX_DIGITS


class Echo:
    """A file that keeps nothing: `csv.writer` returns what it would write."""

    def write(self, text: str) -> str:
        return text


@dataclass
class XLSXFormat:
    """A workbook with one sheet, and a second one that names the cells that were cut. Its memory does not depend on the number of rows."""

    title: str
    # The numbers of the rows and the headings of the first `MAX_CUT_CELLS` cells that were cut, and the number of all such cells.
    cut_cells: list[tuple[int, str]] = field(default_factory=list)
    cut_number: int = 0

    def write(self, file: BinaryIO, headings: Sequence[str], chunks: Chunks) -> None:
        with TemporaryDirectory(prefix="export-") as directory:
            book = Workbook(file, {"constant_memory": True, "tmpdir": directory})
            bold = book.add_format({"bold": True})
            day = book.add_format({"num_format": "yyyy-mm-dd"})
            time = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
            sheet = book.add_worksheet(self.title[:MAX_TITLE_LENGTH])
            sheet.freeze_panes(1, 0)
            sheet.set_column(0, max(len(headings) - 1, 0), 16)
            for column, heading in enumerate(headings):
                sheet.write_string(0, column, heading, bold)
            plain, number = CSVFormat(), 0
            for chunk in chunks:
                for values in chunk:
                    number += 1
                    for column, value in enumerate(values):
                        if isinstance(value, Amount):
                            value = value.value
                        if value is None or value == "":
                            continue
                        if isinstance(value, bool) or (isinstance(value, date) and value.year < FIRST_YEAR):
                            value = plain.text(value)
                        if isinstance(value, str):
                            sheet.write_string(number, column, self.fit(value, number, headings[column]))
                        elif isinstance(value, date):
                            sheet.write_datetime(number, column, value, time if isinstance(value, datetime) else day)
                        elif is_exact(value):
                            sheet.write_number(number, column, value)
                        else:
                            sheet.write_string(number, column, plain_text(Decimal(value)))
            self._write_cut_cells(book, bold)
            book.close()

    def fit(self, text: str, row: int, heading: str) -> str:
        """Return the text, or its beginning if a cell can't have all of it, which is noted."""
        # A character has one or two code units of two bytes.
        if len(text) * 2 <= MAX_CELL_LENGTH or len(units := text.encode("utf-16-le")) <= MAX_CELL_LENGTH * 2:
            return text
        self.cut_number += 1
        if len(self.cut_cells) < MAX_CUT_CELLS:
            self.cut_cells.append((row + 1, heading))
        return units[: 2 * (MAX_CELL_LENGTH - len(CUT))].decode("utf-16-le", "ignore") + CUT

    def _write_cut_cells(self, book: Workbook, bold: Any) -> None:
        if not self.cut_number:
            return
        sheet = book.add_worksheet(_("Cut texts"))
        note = _("A cell has at most 32,767 characters. These texts are longer, and their end is missing:")
        sheet.write_string(0, 0, note, bold)
        for line, (row, heading) in enumerate(self.cut_cells, start=1):
            sheet.write_number(line, 0, row)
            sheet.write_string(line, 1, heading)
        if self.cut_number > len(self.cut_cells):
            sheet.write_string(line + 1, 0, CUT)
