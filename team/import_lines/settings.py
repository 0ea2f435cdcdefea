"""The settings of an import: which column of the file goes to which field, and what happens to the rows."""

import dataclasses
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from core.errors import FieldError, FieldErrors
from core.rows.declared import FieldType
from team.import_lines.fields import EXTERNAL_ID, NEW_FIELD, ImportField, RowKind, fields_of, find_field
from team.spreadsheets.sheets import Sheet
from team.spreadsheets.values import DATE_FORMATS, NUMBER_FORMATS

# The value of `ColumnMapping.values` for a value of the file that is created as a choice, a tag or a status, or that is left out.
CREATE, SKIP = "+", ""
MAX_TAGS = 20
MAX_VALUES = 200

TYPES_WITH_FORMAT = {
    FieldType.NUMBER: NUMBER_FORMATS,
    FieldType.MONEY: NUMBER_FORMATS,
    FieldType.DATE: DATE_FORMATS,
    FieldType.TIME: DATE_FORMATS,
}
# The types of fields that have only certain values.
TYPES_WITH_VALUES = frozenset({FieldType.CHOICE, FieldType.CHOICES, FieldType.STATUS})


class Mode(StrEnum):
    """Which rows an import writes."""

    BOTH = "both"
    CREATE = "create"
    UPDATE = "update"


class Unknown(StrEnum):
    """The treatment of a choice or a status that does not exist."""

    CREATE = "create"
    SKIP = "skip"
    FAULT = "fault"


MODES: dict[str, str | Promise] = {
    Mode.BOTH: _("Create new entries, and change those that exist"),
    Mode.CREATE: _("Only create new entries"),
    Mode.UPDATE: _("Only change entries that exist"),
}
UNKNOWN: dict[str, str | Promise] = {
    Unknown.CREATE: _("Create it"),
    Unknown.SKIP: _("Leave the field blank"),
    Unknown.FAULT: _("Count the row as wrong"),
}


@dataclass
class ColumnMapping:
    """Where the values of a column go. A column without a field is left out."""

    field: str = ""
    # The code of `NUMBER_FORMATS` or `DATE_FORMATS`.
    format: str = ""
    # What stands for certain values of the file: a choice or the name of a status, `CREATE` or `SKIP`.
    values: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclass
class ImportSettings:
    columns: list[ColumnMapping] = dataclasses.field(default_factory=list)
    # The key of the field by which the rows of each kind are matched with existing ones. Without a key, they are all new.
    match: dict[str, str] = dataclasses.field(default_factory=dict)
    mode: str = Mode.BOTH
    # Whether a blank cell empties the field of an existing row.
    clear_blank: bool = False
    # Values of fields for rows without a value, by the code of the field.
    defaults: dict[str, str] = dataclasses.field(default_factory=dict)
    unknown: str = Unknown.SKIP
    # What all rows get: tags, and for contacts a contact list.
    tags: list[str] = dataclasses.field(default_factory=list)
    contact_list: str = ""
    # Whether the first row with a fault ends the import.
    stop: bool = False
    # Whether people and webhooks are notified of the changes.
    notify: bool = False

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        columns = [ColumnMapping(**column) for column in data.get("columns", ())]
        return cls(**{**data, "columns": columns})


@dataclass
class MappedColumn:
    """A column of the file with its field."""

    index: int
    heading: str
    field: ImportField
    mapping: ColumnMapping


@dataclass
class ImportPlan:
    """The settings with the fields that they name."""

    settings: ImportSettings
    columns: list[MappedColumn]
    # The fields of each kind of rows in the file, by code, in the order in which the kinds are written.
    fields: dict[RowKind, dict[str, ImportField]]
    defaults: list[tuple[ImportField, str]]

    @property
    def kinds(self) -> list[RowKind]:
        return list(self.fields)

    def columns_of(self, kind: RowKind) -> list[MappedColumn]:
        return [column for column in self.columns if column.field.kind == kind]


# The fields by which the rows of a kind can be matched, besides external ids.
MATCHED: dict[RowKind, tuple[str, ...]] = {
    RowKind.CLIENT: ("id", "email", "tax_no", "name"),
    RowKind.CONTACT: ("id", "email", "name"),
    RowKind.DEAL: ("id", "name"),
    RowKind.TASK: ("id",),
    RowKind.SUGGESTION: ("id", "source_id", "title"),
}


def plan_import(account: Account, settings: ImportSettings, sheet: Sheet) -> ImportPlan:
    """Return the plan of an import. Raise FieldErrors for settings that do not fit the file or the account."""
    errors: list[FieldError] = []
    kinds = [kind for kind in RowKind if any(column.field.startswith(f"{kind}.") for column in settings.columns)]
    known = {kind: {field.code: field for field in fields_of(kind, account)} for kind in kinds}
    all_fields = {code: field for fields in known.values() for code, field in fields.items()}
    if len(settings.columns) != len(sheet.header):
        raise FieldError("columns", _("must be {n} columns, like the file"), "number", {"n": len(sheet.header)})
    columns = []
    for index, (heading, mapping) in enumerate(zip(sheet.header, settings.columns, strict=True)):
        if not mapping.field:
            continue
        field = find_field(mapping.field, account, all_fields)
        if field is None:
            params = {"column": heading, "field": mapping.field[:100]}
            errors.append(FieldError("columns", _("{column}: there is no field {field}"), "unknown", params))
            continue
        formats: Collection[str] | None = TYPES_WITH_FORMAT.get(field.type)  # type: ignore[assignment]  # two kinds of formats
        if formats is not None and not field.way and field.name != "id" and mapping.format not in formats:
            params = {"column": heading, "choices": ", ".join(formats)}
            errors.append(FieldError("columns", _("{column}: the format is not one of {choices}"), "format", params))
        columns.append(MappedColumn(index, heading, field, mapping))
    counts = Counter(column.field.code for column in columns if not column.field.name.startswith(NEW_FIELD))
    for column in columns:
        if counts[column.field.code] > 1:
            counts[column.field.code] = 0
            params = {"field": column.field.label}
            errors.append(FieldError("columns", _("{field} is chosen for several columns"), "repeated", params))
    if not columns and not errors:
        errors.append(FieldError("columns", _("Choose a field for at least one column"), "required"))
    errors += _errors_of_match(settings, kinds, columns)
    defaults = []
    for code, text in settings.defaults.items():
        default = find_field(code, account, all_fields)
        if default is None:
            errors.append(FieldError("defaults", _("there is no field {field}"), "unknown", {"field": code[:100]}))
        elif text:
            defaults.append((default, text))
    if settings.contact_list and RowKind.CONTACT not in kinds:
        errors.append(FieldError("contact_list", _("is possible for contacts only"), "kind"))
    if errors:
        raise FieldErrors(errors)
    return ImportPlan(settings, columns, {kind: known[kind] for kind in kinds}, defaults)


def _errors_of_match(settings: ImportSettings, kinds: list[RowKind], columns: list[MappedColumn]) -> list[FieldError]:
    errors = []
    for kind in kinds:
        key = settings.match.get(kind, "")
        params = {"kind": kind.label, "field": key[:100]}
        external = EXTERNAL_ID.fullmatch(key)
        is_external = external is not None and not external["link"] and kind.resource != "post"
        if key and key not in MATCHED[kind] and not is_external:
            errors.append(FieldError("match", _("{kind} can't be matched by {field}"), "choice", params))
        elif key and not any(column.field.code == f"{kind}.{key}" for column in columns):
            errors.append(
                FieldError("match", _("{kind} are matched by {field}, which no column has"), "column", params)
            )
        elif not key and settings.mode == Mode.UPDATE:
            errors.append(FieldError("match", _("{kind} can only be changed if they are matched"), "required", params))
    return errors
