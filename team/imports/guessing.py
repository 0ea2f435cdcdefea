"""Guessing the settings of an import from the headings and the values of the file."""

from collections.abc import Sequence
from dataclasses import replace

from accounts.account.models import Account
from core.db.tenancy import fold
from core.rows.declared import FieldType
from team.imports.fields import ImportField, RowKind, codes_by_heading, fields_of, find_field
from team.imports.settings import (
    MATCHED,
    TYPES_WITH_FORMAT,
    ColumnMapping,
    ImportSettings,
    Unknown,
)
from team.spreadsheets.sheets import ColumnStatistics, Sheet
from team.spreadsheets.values import guess_date_format, guess_number_format


def guess_settings(account: Account, sheet: Sheet, kinds: Sequence[str], *, admin: bool) -> tuple[ImportSettings, str]:
    """Return the guessed settings, and the name of the recognized format. `kinds` are those that the user has chosen, if any."""
    chosen = [RowKind(kind) for kind in kinds] or list(RowKind)
    by_kind = {kind: guess_columns(kind, account, sheet) for kind in chosen}
    # Without a choice, it is the kind with the most known columns.
    best = max(by_kind, key=lambda kind: len(by_kind[kind]))
    codes: dict[int, str] = {}
    for kind in [best, *(kind for kind in chosen if kinds and kind != best)]:
        for index, code in by_kind[kind].items():
            codes.setdefault(index, code)
    known = {field.code: field for kind in RowKind for field in fields_of(kind, account)}
    columns = []
    for index, statistics in enumerate(sheet.columns):
        field = find_field(codes.get(index, ""), account, known)
        columns.append(guess_mapping(field, statistics, account.language) if field else ColumnMapping())
    used = {RowKind(column.field.partition(".")[0]) for column in columns if column.field}
    settings = ImportSettings(columns, unknown=Unknown.CREATE if admin else Unknown.SKIP)
    settings.match = {kind: guess_match(kind, columns, sheet) for kind in RowKind if kind in used}
    return settings, ""


def guess_columns(kind: RowKind, account: Account, sheet: Sheet) -> dict[int, str]:
    """Return the codes of the fields of columns whose heading is a label, a key or a code of a field."""
    headings = codes_by_heading(kind, account)
    found: dict[int, str] = {}
    for index, heading in enumerate(sheet.header):
        code = headings.get(fold(heading.strip()))
        if code and code not in found.values():
            found[index] = code
    return found


def guess_mapping(field: ImportField, statistics: ColumnStatistics, language: str) -> ColumnMapping:
    mapping = ColumnMapping(field=field.code)
    if field.way or field.name == "id" or field.type not in TYPES_WITH_FORMAT:
        return mapping
    if field.type in (FieldType.DATE, FieldType.TIME):
        date = guess_date_format(statistics, language)
        return replace(mapping, format=date.format.code if date else "YYYY-MM-DD")
    number = guess_number_format(statistics, language)
    return replace(mapping, format=number.format.code if number else "1 234.50")


def guess_match(kind: RowKind, columns: Sequence[ColumnMapping], sheet: Sheet) -> str:
    """Return the field by which rows are matched: an external id, the e-mail, the tax number, the id or the name; "" without any of them."""
    keys = {
        column.field.removeprefix(f"{kind}."): sheet.columns[index]
        for index, column in enumerate(columns)
        if column.field.startswith(f"{kind}.")
    }
    external = [key for key in keys if key.startswith("external_ids[")]
    for key in [*(["id"] if kind.resource == "post" else []), *external, *MATCHED[kind]]:
        if key in keys and keys[key].filled:
            return key
    return ""
