"""Uploaded tables: CSV and other text with separators, XLSX, and ZIP files with tables.

    reading = detect(path)                      # or detect(path, encoding="cp1250", sheet="Clients")
    sheet = convert(path, reading, output)      # writes the canonical file (`sheets`)

The format is detected by the contents of a file, never by its name.
"""

import errno
import re
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

import orjson
from django.utils.translation import gettext as _

from team.spreadsheets.delimited import (
    ENCODINGS,
    decode,
    detect_encoding,
    detect_quote,
    detect_separator,
    read_records,
    read_sample,
)
from team.spreadsheets.errors import file_error
from team.spreadsheets.sheets import Refused, Sheet, column_letters, looks_like_header, undecodable, write_sheet

MAX_BYTES = 200_000_000
# The directory of a ZIP file is read as a whole.
MAX_DIRECTORY_BYTES = 1_000_000
# The process has a limit of its own for the time of the processor.
PROCESS_TIMEOUT = 300
ROOT = Path(__file__).parents[2]
# The first bytes of files that are no tables, although they may be text.
OTHER_FORMATS = re.compile(
    rb"\s*(?:%PDF|\x89PNG|\xff\xd8\xff|GIF8|\xd0\xcf\x11\xe0|\x1f\x8b|\{\\rtf|Rar!|7z\xbc\xaf|BZh|<!doctype|<html|<\?xml|<table)",
    re.IGNORECASE,
)
# What `zipfile` raises for a damaged file.
ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OverflowError, RuntimeError, UnicodeDecodeError)
# Not the hidden files that some systems add.
TABLE_NAME = re.compile(r"(?!.*(?:^|/)(?:\.|__MACOSX)).+\.(?:csv|tsv|tab|txt|json)", re.IGNORECASE)


@dataclass(frozen=True)
class Reading:
    """How a file is read."""

    # "text", "xlsx" or "zip".
    format: str
    # The sheets of an XLSX file, or the tables in a ZIP file, from which `sheet` is chosen.
    sheets: list[str]
    sheet: str
    # Empty for XLSX and for JSON in a ZIP file.
    encoding: str = ""
    # Empty for a file with one column.
    separator: str = ""
    quote: str = '"'
    has_header: bool = True

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        return cls(**data)


@contextmanager
def _field_errors() -> Iterator[None]:
    try:
        yield
    except Refused as error:
        raise file_error(error.code, error.params) from None
    except ZIP_ERRORS:
        raise file_error("broken", {}) from None
    except OSError as error:
        # A ZIP file refers to a place before its start.
        if error.errno != errno.EINVAL:
            raise
        raise file_error("broken", {}) from None


@_field_errors()
def detect(
    path: Path,
    *,
    encoding: str | None = None,
    separator: str | None = None,
    sheet: str | None = None,
    has_header: bool | None = None,
) -> Reading:
    """Return how to read a file. An argument replaces what would be detected. Raise SpreadsheetError for a file that is no table."""
    if path.stat().st_size > MAX_BYTES:
        raise Refused("too_large", limit=MAX_BYTES // 1_000_000)
    if encoding and encoding not in (*ENCODINGS, "utf-8-sig"):
        raise Refused("unknown_encoding")
    if separator and (len(separator) > 1 or separator in "\r\n\0\"'"):
        raise Refused("invalid_separator")
    reading = _detect_format(path)
    if sheet and reading.format == "zip" and sheet not in reading.sheets:
        raise Refused("unknown_sheet", sheet=sheet)
    reading = replace(reading, sheet=sheet or reading.sheet)
    if _needs_process(reading):
        found = _run_process(path, reading, has_header=has_header)
        sheets = found["sheets"] or reading.sheets
        reading = replace(reading, sheets=sheets, sheet=found["sheet"], has_header=found["has_header"])
    else:
        reading = _detect_text(path, reading, encoding, separator)
    return reading if has_header is None else replace(reading, has_header=has_header)


@_field_errors()
def convert(path: Path, reading: Reading, output: Path) -> Sheet:
    """Write the canonical file of a table, and return its columns. Raise SpreadsheetError for an error of the file."""
    if _needs_process(reading):
        sheet = Sheet.from_json(_run_process(path, reading, has_header=reading.has_header, output=output)["sheet"])
    else:
        with _open(path, reading) as file, decode(file, reading.encoding) as text:
            records = read_records(text, reading.separator, reading.quote)
            sheet = write_sheet(output, records, has_header=reading.has_header)
    sheet.header = [
        name or _("Column %(letter)s") % {"letter": column_letters(index)} for index, name in enumerate(sheet.header)
    ]
    return sheet


def _detect_format(path: Path) -> Reading:
    with path.open("rb") as file:
        start = file.read(512)
    if not start:
        raise Refused("empty")
    if not start.startswith(b"PK\x03\x04"):
        if OTHER_FORMATS.match(start):
            raise Refused("unknown_format")
        return Reading("text", [], "")
    _check_directory(path)
    with zipfile.ZipFile(path) as archive:
        parts = {part.filename: part for part in archive.infolist()}
    if "xl/workbook.xml" in parts:
        return Reading("xlsx", [], "")
    if "mimetype" in parts or "[Content_Types].xml" in parts:
        raise Refused("unknown_format")
    tables = [part for name, part in parts.items() if TABLE_NAME.fullmatch(name)]
    if not tables:
        raise Refused("no_table")
    if any(part.flag_bits & 1 for part in tables):
        raise Refused("encrypted")
    if sum(part.file_size for part in tables) > MAX_BYTES:
        raise Refused("too_large", limit=MAX_BYTES // 1_000_000)
    if any(part.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED} for part in tables):
        raise Refused("broken")
    names = [part.filename for part in tables]
    return Reading("zip", names, names[0])


def _check_directory(path: Path) -> None:
    """Raise Refused for a ZIP file with a directory that is too large."""
    with path.open("rb") as file:
        file.seek(-min(path.stat().st_size, 66_000), 2)
        end = file.read()
    place = end.rfind(b"PK\x05\x06")
    if place < 0 or len(end) < place + 22:
        raise Refused("broken")
    (size,) = struct.unpack("<I", end[place + 12 : place + 16])
    if size > MAX_DIRECTORY_BYTES:
        raise Refused("sheet_too_large")


@contextmanager
def _open(path: Path, reading: Reading) -> Iterator[BinaryIO]:
    if reading.format != "zip":
        with path.open("rb") as file:
            yield file
        return
    # `zipfile` reads no more of a part than the size that it declares.
    with zipfile.ZipFile(path) as archive, archive.open(reading.sheet) as part:
        yield cast(BinaryIO, part)


def _detect_text(path: Path, reading: Reading, encoding: str | None, separator: str | None) -> Reading:
    is_mixed = False
    if not encoding:
        with _open(path, reading) as file:
            try:
                encoding = detect_encoding(file)
            except Refused:
                encoding, is_mixed = "utf-8", True
    with _open(path, reading) as file:
        sample, is_whole = read_sample(file, encoding)
    quote = detect_quote(sample)
    if separator is None:
        separator = detect_separator(sample, quote, is_whole=is_whole)
    reading = replace(reading, encoding=encoding, separator=separator, quote=quote)
    with _open(path, reading) as file, decode(file, encoding) as text:
        records = read_records(text, separator, quote)
        if is_mixed:
            # The first row with such a byte.
            places = (undecodable(number, cells) for number, cells in enumerate(records, 1))
            raise Refused("mixed_encodings", **next(filter(None, places), {"row": 1, "column": "A", "byte": "?"}))
        first = next((cells for cells in records if any(cells)), [])
    return replace(reading, has_header=looks_like_header(first))


def _needs_process(reading: Reading) -> bool:
    return reading.format == "xlsx" or reading.sheet.lower().endswith(".json")


def _run_process(
    path: Path, reading: Reading, *, has_header: bool | None, output: Path | None = None
) -> dict[str, Any]:
    task = {
        "path": str(path.absolute()),
        "format": "xlsx" if reading.format == "xlsx" else "json",
        "sheet": reading.sheet,
        "has_header": has_header,
        "output": str(output.absolute()) if output else "",
    }
    command = [sys.executable, "-m", "team.spreadsheets.xlsx"]
    # The environment of the service has its secrets.
    environment = {"PYTHONPATH": str(ROOT)}
    try:
        done = subprocess.run(  # noqa: S603
            command, input=orjson.dumps(task), capture_output=True, timeout=PROCESS_TIMEOUT, env=environment, check=True
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        # The memory or the time was not enough.
        raise Refused("sheet_too_large") from None
    result: dict[str, Any] = orjson.loads(done.stdout)
    if "error" in result:
        raise Refused(result["error"], **result["params"])
    return result
