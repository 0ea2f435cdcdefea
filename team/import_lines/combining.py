"""Combining the tables of a ZIP file of a known service: suggestions, and the rows of other tables that refer to them.

The combined table has a column for each field. The suggestions come first, each with its number in the old system, and then one row for each
vote, comment and tag, with the number of its suggestion. So the import adds them as it does for separate files.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.errors import FieldErrors
from team.import_lines.guessing import SOURCE_ID, codes_of
from team.spreadsheets.reading import Reading, convert, detect
from team.spreadsheets.sheets import Sheet, read_rows, write_sheet
from team.spreadsheets.sources import Recognition, recognize


@dataclass
class CombinedTable:
    path: Path
    sheet: Sheet
    recognition: Recognition

    @property
    def name(self) -> str:
        return self.recognition.table.table

    def rows(self) -> Iterator[list[str]]:
        with self.path.open("rb") as file:
            for row in read_rows(file, self.sheet):
                yield row.cells

    def by_key(self) -> dict[str, dict[str, str]]:
        """Return the values of each row by the name of its column, by the key of the row."""
        key = self.recognition.key
        names = [name or "" for name in self.recognition.fields]
        return {} if key is None else {cells[key]: dict(zip(names, cells, strict=False)) for cells in self.rows()}


def combine(path: Path, reading: Reading, directory: Path) -> tuple[Sheet, str] | None:
    """Write the combined table of a ZIP file to `directory / "rows"`. Return it with the name of the service, or None if there is nothing to combine."""
    if reading.format != "zip" or len(reading.sheets) < 2:
        return None
    tables = {table.name: table for table in _read_tables(path, reading, directory)}
    if not any(table.recognition.table.joins for table in tables.values()):
        return None
    # Suggestions first: the table to which others refer has a key.
    main = [table for table in tables.values() if table.recognition.table.kinds and table.recognition.key is not None]
    others = [table for table in tables.values() if table.recognition.table.kinds and table.recognition.key is None]
    columns = _columns_of([*main, *others])
    sheet = write_sheet(directory / "rows", _records([*main, *others], tables, columns), has_header=True)
    return sheet, tables[main[0].name].recognition.table.name if main else ""


def _read_tables(path: Path, reading: Reading, directory: Path) -> Iterator[CombinedTable]:
    for number, name in enumerate(reading.sheets):
        output = directory / f"table{number}"
        try:
            sheet = convert(path, detect(path, sheet=name), output)
        except FieldErrors:
            # A part that is no table, such as an empty list.
            continue
        if (recognition := recognize(sheet.header)) is not None:
            yield CombinedTable(output, sheet, recognition)


def _columns_of(tables: list[CombinedTable]) -> list[str]:
    codes = {code: None for table in tables for code in _codes_of(table) if code}
    return [SOURCE_ID, *(code for code in codes if code != SOURCE_ID)]


def _codes_of(table: CombinedTable) -> list[str]:
    """Return the codes of the columns, and those that the joins add."""
    joins = table.recognition.table.joins
    return [*codes_of(table.recognition), *(code for join in joins for code in join.columns.values())]


def _records(
    tables: list[CombinedTable], known: Mapping[str, CombinedTable], columns: list[str]
) -> Iterator[list[str]]:
    yield columns
    joined = {
        join.table: known[join.table].by_key()
        for table in tables
        for join in table.recognition.table.joins
        if join.columns and join.table in known
    }
    for table in tables:
        codes, definition = codes_of(table.recognition), table.recognition.table
        for cells in table.rows():
            values = {code: text for code, text in zip(codes, cells, strict=False) if code and text}
            for code, meanings in definition.values.items():
                if code in values:
                    values[code] = meanings.get(values[code], values[code])
            for join in definition.joins:
                index = table.recognition.joins.get(join.by)
                found = joined.get(join.table, {}).get(cells[index]) if index is not None else None
                values |= {code: found[name] for name, code in join.columns.items() if found and found.get(name)}
            yield [values.get(code, "") for code in columns]
