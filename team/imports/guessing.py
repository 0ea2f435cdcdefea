"""Guessing the settings of an import from the headings and the values of the file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from django.conf import settings as django_settings
from django.utils import translation
from django.utils.translation import gettext as _

from accounts.account.models import Account
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
from team.spreadsheets.sources import ColumnGuess, Recognition, SourceTable, guess_columns, recognize
from team.spreadsheets.values import DATE_FORMATS, NUMBER_FORMATS, guess_date_format, guess_number_format


def guess_settings(account: Account, sheet: Sheet, kinds: Sequence[str], *, admin: bool) -> tuple[ImportSettings, str]:
    """Return the guessed settings, and the name of the recognized format. `kinds` are those that the user has chosen, if any."""
    chosen = [RowKind(kind) for kind in kinds] or list(RowKind)
    labels = {kind: codes_by_heading(kind, account) for kind in chosen}
    found = recognize_file(sheet, labels)
    format = found.table.name if found else ""
    if (remembered := remembered_settings(account, sheet, kinds, admin=admin)) is not None:
        return remembered, format
    known = {field.code: field for kind in RowKind for field in fields_of(kind, account)}
    codes = found.fields if found else guess_codes(sheet, labels, is_chosen=bool(kinds))
    columns = []
    for code, statistics in zip(codes, sheet.columns, strict=True):
        field = find_field(code or "", account, known)
        mapping = guess_mapping(field, statistics, account.language) if field else ColumnMapping()
        if found:
            use_formats(mapping, found.table, statistics)
        columns.append(mapping)
    used = {RowKind(column.field.partition(".")[0]) for column in columns if column.field}
    settings = ImportSettings(columns, unknown=Unknown.CREATE if admin else Unknown.SKIP)
    settings.match = {kind: guess_match(kind, columns, sheet) for kind in RowKind if kind in used}
    return settings, format


def recognize_file(sheet: Sheet, labels: Mapping[RowKind, dict[str, str]]) -> Recognition | None:
    """Return the columns of a file that a known service wrote, if it has rows of the chosen kinds only."""
    for kind, headings in labels.items():
        found = recognize(sheet.header, headings)
        if found is not None and kind in found.table.kinds and any(found.fields):
            found.fields.extend([None] * (len(sheet.header) - len(found.fields)))
            codes = [code if code and code.partition(".")[0] in labels else None for code in found.fields]
            return replace(found, fields=codes)
    return None


def guess_codes(sheet: Sheet, labels: Mapping[RowKind, dict[str, str]], *, is_chosen: bool) -> list[str | None]:
    """Return the field of each column of a file that no known service wrote. Without a choice, all are of one kind."""

    def guess(kinds: Sequence[RowKind]) -> list[ColumnGuess]:
        headings = {label: code for kind in reversed(kinds) for label, code in labels[kind].items()}
        return guess_columns(sheet.header, kinds, sheet.columns, headings)

    by_kind = {kind: guess([kind]) for kind in labels}
    best = max(by_kind, key=lambda kind: sum(column.confidence for column in by_kind[kind]))
    guesses = by_kind[best]
    if is_chosen and len(labels) > 1:
        guesses = guess([best, *(kind for kind in labels if kind != best)])
    return [column.field for column in guesses]


def use_formats(mapping: ColumnMapping, table: SourceTable, statistics: ColumnStatistics) -> None:
    """Set what a known service means by the values of a column. Its formats count if the values of the column fit them."""
    mapping.values = dict(table.values.get(mapping.field, {}))
    if mapping.format in DATE_FORMATS and table.dates and statistics.fits(f"datetime:{table.dates}"):
        mapping.format = table.dates
    if mapping.format in NUMBER_FORMATS and table.numbers and statistics.fits(f"number:{table.numbers}"):
        mapping.format = table.numbers


def remembered_settings(
    account: Account, sheet: Sheet, kinds: Sequence[str], *, admin: bool
) -> ImportSettings | None:
    """Return the settings of the newest import of a file with the same header.

    A file of wrong rows has a further column with the errors, which is left out.
    """
    errors = set()
    for language, _name in django_settings.LANGUAGES:
        with translation.override(language):
            errors.add(_("Errors"))
    headers = [sheet.header, sheet.header[:-1]] if sheet.header[-1] in errors else [sheet.header]
    rows = account.imports.filter(sheet__header__in=headers, settings__has_key="columns").order_by("-id")
    if kinds:
        rows = rows.filter(settings__kinds=list(kinds))
    stored = rows.values_list("settings", flat=True).first()
    if stored is None:
        return None
    settings = ImportSettings.from_json({name: value for name, value in stored.items() if name != "kinds"})
    known = {field.code: field for kind in RowKind for field in fields_of(kind, account)}
    if any(column.field and find_field(column.field, account, known) is None for column in settings.columns):
        return None
    settings.columns += [ColumnMapping() for _column in sheet.header[len(settings.columns) :]]
    settings.notify = False
    if settings.unknown == Unknown.CREATE and not admin:
        settings.unknown = Unknown.SKIP
    return settings


def guess_mapping(field: ImportField, statistics: ColumnStatistics, language: str) -> ColumnMapping:
    mapping = ColumnMapping(field=field.code)
    if field.way or field.name == "id" or field.type not in TYPES_WITH_FORMAT:
        return mapping
    if field.type in (FieldType.DATE, FieldType.TIME):
        date = guess_date_format(statistics, language)
        return replace(mapping, format=date.format.code if date else latest_misfit(statistics, "datetime", DATE_FORMATS))
    number = guess_number_format(statistics, language)
    return replace(mapping, format=number.format.code if number else latest_misfit(statistics, "number", NUMBER_FORMATS))


def latest_misfit(statistics: ColumnStatistics, value_type: str, formats: Iterable[str]) -> str:
    """Return the format that fits the most rows at the beginning of a column, if none fits all."""
    return max(formats, key=lambda code: statistics.misfits.get(f"{value_type}:{code}", ("", 0))[1])


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
