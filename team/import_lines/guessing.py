"""Guessing the settings of an import from the headings and the values of the file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from django.conf import settings as django_settings
from django.utils import translation
from django.utils.translation import gettext as _

from accounts.account.models import Account
from core.db.tenancy import fold
from core.rows.declared import FieldType
from team.import_lines.fields import EXTERNAL_ID, ImportField, RowKind, codes_by_heading, fields_of, find_field
from team.import_lines.settings import (
    MATCHED,
    TYPES_WITH_FORMAT,
    ColumnMapping,
    ImportSettings,
    Unknown,
)
from team.spreadsheets.sheets import ColumnStatistics, Sheet
from team.spreadsheets.sources import ColumnGuess, Recognition, guess_columns, recognize
from team.spreadsheets.values import DATE_FORMATS, NUMBER_FORMATS, guess_date_format, guess_number_format

SOURCE_ID = "suggestion.source_id"
# The number of imports of an account whose settings are used again for a file with the same header.
MAX_REMEMBERED = 200


def guess_settings(account: Account, sheet: Sheet, kinds: Sequence[str], *, admin: bool) -> tuple[ImportSettings, str]:
    """Return the guessed settings, and the name of the service that wrote the file. `kinds` are those that the user has chosen, if any."""
    labels = {kind: codes_by_heading(kind, account) for kind in sorted(RowKind, key=lambda kind: kind not in kinds)}
    recognized = recognize_file(sheet, labels)
    if recognized is not None and kinds and not set(kinds) & set(recognized.table.kinds):
        recognized = None
    format = recognized.table.name if recognized is not None else ""
    known = {field.code: field for kind in RowKind for field in fields_of(kind, account)}
    if (remembered := remembered_settings(account, sheet, kinds, known, admin=admin)) is not None:
        return remembered, format
    values: Mapping[str, Mapping[str, str]] = {}
    if recognized is not None:
        codes, values = codes_of(recognized), recognized.table.values
    else:
        codes = guess_codes(sheet, [RowKind(kind) for kind in kinds], fitting_labels(sheet, labels, known))
    columns = []
    main_kind = next((code.partition(".")[0] for code in codes if code), "")
    for heading, code, statistics in zip(sheet.header, codes, sheet.columns, strict=True):
        # A heading may be the code of a field, or an external id that no row has yet.
        full_code = f"{main_kind}.{heading}" if EXTERNAL_ID.fullmatch(heading) else heading
        field = find_field(full_code, account, known) or find_field(code, account, known)
        mapping = guess_mapping(field, statistics, account.language) if field else ColumnMapping()
        mapping.values = dict(values.get(code, {})) if field else {}
        columns.append(mapping)
    used = {RowKind(column.field.partition(".")[0]) for column in columns if column.field}
    settings = ImportSettings(columns, unknown=Unknown.CREATE if admin else Unknown.SKIP)
    settings.match = {kind.value: guess_match(kind, columns, sheet) for kind in RowKind if kind in used}
    return settings, format


def remembered_settings(
    account: Account, sheet: Sheet, kinds: Sequence[str], known: dict[str, ImportField], *, admin: bool
) -> ImportSettings | None:
    """Return the settings of the newest import of a file with the same header, or with a further column, which has the errors of rows."""
    errors = set()
    for language, _name in django_settings.LANGUAGES:
        with translation.override(language):
            errors.add(_("Errors"))
    headers = [sheet.header, sheet.header[:-1]] if sheet.header[-1] in errors else [sheet.header]
    latest = account.imports.order_by("-id").values("id")[:MAX_REMEMBERED]
    rows = account.imports.filter(id__in=latest, sheet__header__in=headers, settings__has_key="columns").order_by("-id")
    if kinds:
        rows = rows.filter(settings__kinds=list(kinds))
    stored = rows.values_list("settings", flat=True).first()
    if stored is None:
        return None
    settings = ImportSettings.from_json({name: value for name, value in stored.items() if name != "kinds"})
    if any(column.field and find_field(column.field, account, known) is None for column in settings.columns):
        return None
    settings.columns += [ColumnMapping() for _column in sheet.header[len(settings.columns) :]]
    settings.notify = False
    if settings.unknown == Unknown.CREATE and not admin:
        settings.unknown = Unknown.SKIP
    return settings


def recognize_file(sheet: Sheet, labels: Mapping[RowKind, Mapping[str, str]]) -> Recognition | None:
    """Return the columns of a file of a known service, or of our own export of a kind of rows."""
    own = (recognize(sheet.header, labels_of_kind) for labels_of_kind in labels.values())
    return recognize(sheet.header) or next((found for found in own if found is not None), None)


def codes_of(recognition: Recognition) -> list[str]:
    """Return the codes of the fields of the columns. The id of a suggestion in the other service connects it with its votes and comments."""
    codes = [code or "" for code in recognition.fields]
    links = [
        recognition.joins[join.by]
        for join in recognition.table.joins
        if not join.columns and join.by in recognition.joins
    ]
    for index in (recognition.key, *links):
        if (
            index is not None
            and not codes[index]
            and "suggestion" in recognition.table.kinds
            and SOURCE_ID not in codes
        ):
            codes[index] = SOURCE_ID
    return codes


def guess_codes(sheet: Sheet, kinds: Sequence[RowKind], labels: Mapping[RowKind, Mapping[str, str]]) -> list[str]:
    """Return the codes of the fields that the headings and values suggest. Without kinds, they are of the kind with the most certain ones."""

    def guess(*chosen: RowKind) -> list[ColumnGuess]:
        known = {label: code for kind in chosen for label, code in labels[kind].items()}
        return guess_columns(sheet.header, [kind.value for kind in chosen], sheet.columns, known)

    found = (
        guess(*kinds)
        if kinds
        else max(map(guess, RowKind), key=lambda guesses: sum(each.confidence for each in guesses))
    )
    return [each.field or "" for each in found]


def fitting_labels(
    sheet: Sheet, labels: Mapping[RowKind, Mapping[str, str]], known: Mapping[str, ImportField]
) -> dict[RowKind, dict[str, str]]:
    """Return the labels without those of yes or no for a column of other values, such as "company" for the names of companies."""
    columns = zip(sheet.header, sheet.columns, strict=True)
    others = {fold(heading.strip()) for heading, statistics in columns if not statistics.fits("boolean")}
    return {
        kind: {
            label: code for label, code in codes.items() if label not in others or known[code].type != FieldType.BOOLEAN
        }
        for kind, codes in labels.items()
    }


def guess_mapping(field: ImportField, statistics: ColumnStatistics, language: str) -> ColumnMapping:
    mapping = ColumnMapping(field=field.code)
    if field.way or field.name == "id" or field.type not in TYPES_WITH_FORMAT:
        return mapping
    if field.type in (FieldType.DATE, FieldType.TIME):
        date = guess_date_format(statistics, language)
        return replace(
            mapping, format=date.format.code if date else latest_misfit(statistics, "datetime", DATE_FORMATS)
        )
    number = guess_number_format(statistics, language)
    return replace(
        mapping, format=number.format.code if number else latest_misfit(statistics, "number", NUMBER_FORMATS)
    )


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
