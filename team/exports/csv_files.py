"""CSV files for spreadsheet programs, in the format that they expect in the language of the reader.

Where the comma is the decimal sign, a semicolon separates the values.
"""

import csv
import re
from decimal import Decimal
from typing import Any

from django.utils import formats

from core.pages.formatting import number_text

# Spreadsheet programs recognize UTF-8 by this mark.
BYTE_ORDER_MARK = "\ufeff"
# Spreadsheet programs execute a cell that begins with one of these characters as a formula.
FORMULA = re.compile(r"\s*[=+\-@\t\r]")
# A telephone number in the international format, which may have an extension. It has no letters that could name a function or a cell.
PHONE_NUMBER = re.compile(r"\s*\+\s*[0-9(][0-9\s()./\-\u2011]*(?:(?:ext|x|wew)\.?\s?[0-9]+)?\s*", re.IGNORECASE)


def csv_writer(file: Any) -> Any:
    """Return a writer of the `csv` module for the active language."""
    return csv.writer(file, delimiter=";" if formats.get_format("DECIMAL_SEPARATOR") == "," else ",")


def number_cell(value: int | float | Decimal) -> str:
    """Return a number without grouping, in the active language."""
    return number_text(value, is_grouped=False)


def guarded(text: str) -> str:
    """Return the text with an apostrophe before it if a spreadsheet program would execute it as a formula."""
    return f"'{text}" if FORMULA.match(text) else text


def phone_cell(text: str) -> str:
    """Return a telephone number as it is, so that other programs can dial and import it, and guard any other text."""
    return text if PHONE_NUMBER.fullmatch(text) else guarded(text)
