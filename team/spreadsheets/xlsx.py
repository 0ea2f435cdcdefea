"""XLSX files, and tables in JSON, which only fit in memory as a whole. They are read in a process of its own with a limit of memory.

The process reads its task and writes its result as JSON. It has no settings and no database.
"""

import re
import resource
import sys
import zipfile
from collections.abc import Callable, Collection, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import python_calamine as calamine
from defusedxml import ElementTree

from team.spreadsheets.sheets import SAMPLE_ROWS, Refused, column_letters, looks_like_header, write_sheet

MAX_CELLS = 2_000_000
MAX_MEMORY = 1_500_000_000
MAX_SECONDS = 60
# The size of all parts of the file when they are unpacked.
MAX_UNPACKED = 500_000_000


def _number_text(number: float) -> str:
    """Return a number without rounding errors and exponents. Excel keeps 15 digits."""
    if number.is_integer() and abs(number) < 1e15:
        return str(int(number))
    return f"{Decimal(f'{number:.15g}'):f}"


def _moment_text(moment: datetime) -> str:
    rounded = (moment + timedelta(milliseconds=500)).replace(microsecond=0)
    return rounded.isoformat(" ")


def _duration_text(duration: timedelta) -> str:
    minutes, seconds = divmod(round(duration.total_seconds()), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


TEXTS: dict[type, Callable[[Any], str]] = {
    str: str,
    float: _number_text,
    int: str,
    bool: lambda value: "true" if value else "false",
    datetime: _moment_text,
    date: date.isoformat,
    time: lambda value: value.isoformat("seconds"),
    timedelta: _duration_text,
}


def sheet_names(book: calamine.CalamineWorkbook) -> list[str]:
    """Return the names of the sheets that are not hidden, or else of all sheets. Sheets with only a chart are left out."""
    sheets = [sheet for sheet in book.sheets_metadata if sheet.typ == calamine.SheetTypeEnum.WorkSheet]
    visible = [sheet for sheet in sheets if sheet.visible == calamine.SheetVisibleEnum.Visible]
    return [sheet.name for sheet in visible or sheets]


def percent_cells(path: Path, name: str) -> set[str]:
    """Return the names of the cells of a sheet that are shown in percent, such as `B5`. calamine does not know how cells are shown."""
    with zipfile.ZipFile(path) as archive:
        styles = ElementTree.fromstring(archive.read("xl/styles.xml"))
        custom = {each.get("numFmtId") for each in styles.iterfind(".//{*}numFmt") if "%" in each.get("formatCode", "")}
        found = enumerate(styles.iterfind("{*}cellXfs/{*}xf"))
        percents = {str(index) for index, style in found if style.get("numFmtId") in {*custom, "9", "10"}}
        if not percents:
            return set()
        sheets = ElementTree.fromstring(archive.read("xl/workbook.xml")).iterfind("{*}sheets/{*}sheet")
        sheet = next(sheet for sheet in sheets if sheet.get("name") == name)
        ids = {value for key, value in sheet.items() if key.endswith("}id")}
        links = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
        target = next(link.get("Target") for link in links if link.get("Id") in ids)
        cell = re.compile(rb'<(?:\w+:)?c r="([A-Z]+[0-9]+)" s="(?:%s)"' % "|".join(percents).encode())
        cells, rest = set[bytes](), b""
        with archive.open(target.lstrip("/") if target.startswith("/") else f"xl/{target}") as file:
            while chunk := file.read(1_000_000):
                cells.update(cell.findall(rest + chunk))
                rest = chunk[-100:]
        return {name.decode() for name in cells}


def read_xlsx(book: calamine.CalamineWorkbook, name: str, percents: Collection[str] = ()) -> Iterator[list[str]]:
    """Return the rows of a sheet from row 1 on. A merged cell has its value in its first cell, and an error is an empty cell."""
    sheet = book.get_sheet_by_name(name)
    if sheet.height * sheet.width > MAX_CELLS:
        raise Refused("too_many_cells_in_sheet", cells=sheet.height * sheet.width, limit=MAX_CELLS)
    # `iter_rows` begins with row 1, but with the first column that has cells.
    left = (sheet.start or (0, 0))[1]
    before, texts = [""] * left, TEXTS
    letters = [column_letters(left + index) for index in range(sheet.width)]
    for number, row in enumerate(sheet.iter_rows(), 1):
        if percents:
            for index, value in enumerate(row):
                if type(value) is float and f"{letters[index]}{number}" in percents:
                    row[index] = f"{_number_text(value * 100)}%"
        yield before + [value if type(value) is str else texts[type(value)](value) for value in row]


def read_json(data: bytes) -> Iterator[list[str]]:
    """Return the names of the members of all objects, and then the values of each object."""
    try:
        objects = orjson.loads(data)
        names = list(dict.fromkeys(name for each in objects for name in each.keys()))  # noqa: SIM118  # a list of texts has no keys
    except (ValueError, AttributeError, TypeError):
        raise Refused("unknown_format") from None
    if not isinstance(objects, list) or not names:
        raise Refused("empty")
    yield names
    for each in objects:
        yield [_json_text(each.get(name)) for name in names]


def _json_text(value: object) -> str:
    if isinstance(value, str):
        return value.replace("\0", "")
    if isinstance(value, float):
        return _number_text(value)
    return "" if value is None else orjson.dumps(value).decode()


def run(path: Path, *, format: str, sheet: str, has_header: bool | None, output: str) -> dict[str, Any]:
    if format == "xlsx":
        with zipfile.ZipFile(path) as archive:
            # A part that is larger than it says meets the limit of memory or of time.
            if sum(part.file_size for part in archive.infolist()) > MAX_UNPACKED:
                raise Refused("sheet_too_large")
        book = calamine.CalamineWorkbook.from_path(path)
        sheets = sheet_names(book)
        if not sheets:
            raise Refused("empty")
        if sheet and sheet not in sheets:
            raise Refused("unknown_sheet", sheet=sheet)
        sheet = sheet or sheets[0]
        rows = read_xlsx(book, sheet, percent_cells(path, sheet) if output else ())
    else:
        with zipfile.ZipFile(path) as archive:
            rows, sheets = read_json(archive.read(sheet)), []
    if output:
        return {"sheet": write_sheet(Path(output), rows, has_header=bool(has_header)).as_json()}
    first = next((cells for cells, _number in zip(rows, range(SAMPLE_ROWS), strict=False) if any(cells)), [])
    return {"sheets": sheets, "sheet": sheet, "has_header": looks_like_header(first)}


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS))
    try:
        task = orjson.loads(sys.stdin.buffer.read())
        result = run(Path(task.pop("path")), **task)
    except Refused as error:
        result = {"error": error.code, "params": error.params}
    except MemoryError:
        result = {"error": "sheet_too_large", "params": {}}
    except Exception:  # noqa: BLE001  # Other errors of a library mean that the file is damaged.
        result = {"error": "broken", "params": {}}
    sys.stdout.buffer.write(orjson.dumps(result))


if __name__ == "__main__":
    main()
