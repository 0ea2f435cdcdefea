"""The errors of uploaded files. A message continues the name of the field: "The file …"."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from core.errors import FieldError
from core.pages.formatting import number_text

MESSAGES = {
    "binary": _("contains bytes that are not text, in row {row}. Save the table as CSV or XLSX"),
    "broken": _("is damaged or incomplete. Save it again and upload it again"),
    "cell_or_quote": _("has a quotation mark in row {row} that is not closed, or a very long cell"),
    "cell_too_long": _("has more than {limit} characters in cell {column}{row}"),
    "duplicate_header": _("has several columns with the name “{name}”: {columns}"),
    "empty": _("has no rows"),
    "encrypted": _("has a password. Save it without the password"),
    "invalid_separator": _("can't be read with this separator: it must be one character"),
    "mixed_encodings": _(
        "has several encodings: it is in UTF-8, but cell {column}{row} contains the byte {byte}. "
        "Save it in UTF-8, or choose an encoding such as windows-1250"
    ),
    "no_table": _("contains no CSV file"),
    "open_quote": _("ends within a quotation mark that is opened in row {row}. The file may be incomplete"),
    "record_too_long": _("has more than {limit} characters in row {row}"),
    "sheet_too_large": _("is too large to be read as a spreadsheet. Save the sheet as CSV"),
    "too_large": _("is too large: at most {limit} MB are possible"),
    "too_many_cells": _("has {cells} cells in row {row}, but only {limit} columns"),
    "too_many_cells_in_sheet": _(
        "has {cells} cells in one sheet, and at most {limit} are possible. Save the sheet as CSV"
    ),
    "too_many_columns": _("has {columns} columns, and at most {limit} are possible"),
    "too_many_rows": _("has more than {limit} rows"),
    "undecodable": _(
        "contains the byte {byte} in cell {column}{row}, which the encoding does not have. Choose another encoding"
    ),
    "unknown_encoding": _("can't be read in this encoding"),
    "unknown_format": _("is not a table. Save it as CSV or XLSX"),
    "unknown_sheet": _("has no sheet with the name “{sheet}”"),
}


class SpreadsheetError(FieldError):
    """An error or a warning of a file, in a row and column if `params` names them."""

    @property
    def row(self) -> int | None:
        row = (self.params or {}).get("row")
        return row if isinstance(row, int) else None

    @property
    def column(self) -> str | None:
        column = (self.params or {}).get("column")
        return str(column) if column else None

    @property
    def text(self) -> str:
        numbers = {
            name: number_text(value)
            for name, value in (self.params or {}).items()
            if type(value) is int and name != "row"
        }
        return str(self.message).format(**{**(self.params or {}), **numbers})


def file_error(code: str, params: Mapping[str, Any]) -> SpreadsheetError:
    return SpreadsheetError("file", MESSAGES[code], code, params)
