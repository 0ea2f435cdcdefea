"""Reading the lines of an imported file: the text of each cell becomes a value of its field, as the JSON API takes it."""

import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from core.api.fields import MAX_INTEGER
from core.db.tenancy import fold
from core.errors import FieldError, FieldErrors
from core.http.spreadsheets import unguard
from core.rows.declared import FieldType
from team.exports.formats import split_list
from team.import_lines.fields import ImportField, RowKind
from team.import_lines.lookups import keys_of, split_names
from team.import_lines.settings import CREATE, SKIP, ColumnMapping, ImportPlan, MappedColumn, Unknown
from team.spreadsheets.sheets import SheetRow
from team.spreadsheets.values import (
    DATE_FORMATS,
    NUMBER_FORMATS,
    parse_boolean,
    parse_date,
    parse_datetime,
    parse_number,
)

SEPARATORS = re.compile(r"[,;|\n]")
ID_TEXT = re.compile(r"[1-9][0-9]{0,18}")
LINKS = frozenset({FieldType.USER, FieldType.STATUS, FieldType.CLIENT, FieldType.CONTACT, FieldType.DEAL})
NAMED_LINKS = frozenset({"category_id", "forum_id"})


@dataclass(frozen=True)
class LinkText:
    """A cell that names a row to which the field links, in the way of the field, such as by its e-mail."""

    field: ImportField
    text: str
    # The cells of other columns, which count if this one names no row.
    others: tuple["LinkText", ...] = ()

    @property
    def way(self) -> str:
        return self.field.way or "name"


@dataclass(frozen=True)
class NewChoice:
    """A choice or a status that is to be created."""

    text: str


@dataclass
class Fault:
    """An error in a line. `column` is the heading of the column, or the label of a field that has no column."""

    column: str
    error: FieldError

    @property
    def text(self) -> str:
        return f"{self.column}: {self.error.text}" if self.column else self.error.text


@dataclass
class Line:
    """A line of the file, with the values of each kind of rows by the name of the field. None stands for a blank that empties the field."""

    number: int
    values: dict[RowKind, dict[str, Any]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    # The headings or labels of the fields, for the faults that are found later.
    headings: dict[str, str] = field(default_factory=dict)

    def add_faults(self, kind: RowKind, errors: Iterable[FieldError]) -> None:
        self.faults += [Fault(self.headings.get(f"{kind}.{error.field}", ""), error) for error in errors]


class LineReader:
    """The reader of the lines of one import."""

    def __init__(self, account: Account, plan: ImportPlan) -> None:
        self.account, self.plan = account, plan
        zone: ZoneInfo = account.zone
        self.readers: list[tuple[MappedColumn, Callable[[str], Any]]] = [
            (column, reader_of(column.field, column.mapping, zone, account, plan.settings.unknown))
            for column in plan.columns
        ]
        plain = ColumnMapping(format="")
        self.defaults = [
            (field, text, reader_of(field, default_mapping(field, plain), zone, account, plan.settings.unknown))
            for field, text in plan.defaults
        ]
        # By kind and name of the field: several columns may hold parts of one field, such as the name and the id of a link.
        self.headings = {
            **{
                f"{kind}.{field.name}": field.label for kind, fields in plan.fields.items() for field in fields.values()
            },
            **{f"{column.field.kind}.{column.field.name}": column.heading for column in plan.columns},
        }

    def read(self, row: SheetRow) -> Line:
        line = Line(row.number, {kind: {} for kind in self.plan.kinds}, headings=self.headings)
        if row.is_too_wide:
            line.faults.append(Fault("", FieldError("", _("The row has more cells than the header"), "too_wide")))
            return line
        for column, read in self.readers:
            text = row.cells[column.index]
            values, name = line.values[column.field.kind], column.field.name
            if not text.strip():
                if self.plan.settings.clear_blank:
                    values.setdefault(name, None)
                continue
            try:
                value = read(text)
            except FieldErrors as caught:
                line.faults += [Fault(column.heading, error) for error in caught.errors]
                continue
            except ValueError:
                line.faults.append(Fault(column.heading, misfit(column.field, text)))
                continue
            if isinstance(value, LinkText) and isinstance(current := values.get(name), LinkText):
                value = join_links(current, value)
            elif value is SKIPPED or (values.get(name) is not None and column.field.way):
                # The id of a link counts more than a name beside it.
                continue
            values[name] = value
        for field_, text, read in self.defaults:
            values = line.values[field_.kind]
            if any(values.values()) and values.get(field_.name) is None:
                try:
                    values[field_.name] = read(text)
                except ValueError:
                    line.faults.append(Fault(field_.label, misfit(field_, text)))
        # A line without any value of a kind has no row of this kind.
        line.values = {kind: values for kind, values in line.values.items() if any(map(has_value, values.values()))}
        if not line.values and not line.faults:
            line.faults.append(Fault("", FieldError("", _("The row has no value in the chosen columns"), "blank")))
        return line


SKIPPED = object()


def has_value(value: object) -> bool:
    return value is not None


def default_mapping(field: ImportField, plain: ColumnMapping) -> ColumnMapping:
    """Return the mapping of a value that is typed on the page: numbers with a decimal point, and dates as in ISO 8601."""
    if field.type in (FieldType.NUMBER, FieldType.MONEY):
        return ColumnMapping(format="1 234.50")
    return ColumnMapping(format="YYYY-MM-DD") if field.type in (FieldType.DATE, FieldType.TIME) else plain


def misfit(field: ImportField, text: str) -> FieldError:
    """Return the error of a text that does not fit its field."""
    messages = {
        FieldType.NUMBER: _("“{value}” is not a number in the chosen format"),
        FieldType.MONEY: _("“{value}” is not a number in the chosen format"),
        FieldType.DATE: _("“{value}” is not a date in the chosen format"),
        FieldType.TIME: _("“{value}” is not a date in the chosen format"),
        FieldType.BOOLEAN: _("“{value}” is not yes or no"),
    }
    message = messages.get(field.type, _("“{value}” is not an id"))
    if field.type in LINKS or field.name in ("id", *NAMED_LINKS):
        message = _("“{value}” is not an id")
    return FieldError(field.name, message, "value", {"value": text.strip()[:100]})


def reader_of(
    field: ImportField, mapping: ColumnMapping, zone: ZoneInfo, account: Account, unknown: str
) -> Callable[[str], Any]:
    """Return the function that turns the text of a cell into the value of a field. It raises ValueError for a text that does not fit."""
    if field.way == "currency":
        return lambda text: read_own_currency(text, account)
    if field.way or (field.type in LINKS and mapping.values):
        return lambda text: read_link(field, mapping, text)
    if field.name == "id" or field.type in LINKS or field.name in NAMED_LINKS:
        return read_id
    if field.type in (FieldType.NUMBER, FieldType.MONEY):
        number = NUMBER_FORMATS[mapping.format]
        return lambda text: parse_number(unguard(text), number)
    if field.type == FieldType.DATE:
        date = DATE_FORMATS[mapping.format]
        return lambda text: parse_date(unguard(text), date).isoformat()
    if field.type == FieldType.TIME:
        moment = DATE_FORMATS[mapping.format]
        return lambda text: parse_datetime(unguard(text), moment, zone).isoformat()
    if field.type == FieldType.BOOLEAN:
        return lambda text: parse_boolean(unguard(text))
    if field.type == FieldType.CHOICE:
        return lambda text: read_choice(field, mapping, unknown, unguard(text))
    if field.type == FieldType.CHOICES:
        return lambda text: read_choices(field, mapping, unknown, unguard(text))
    if field.type == FieldType.TAGS:
        return lambda text: split(unguard(text))
    return unguard


def read_id(text: str) -> int:
    if not ID_TEXT.fullmatch(text.strip()) or int(text) > MAX_INTEGER:
        raise ValueError(text)
    return int(text)


def read_own_currency(text: str, account: Account) -> object:
    """Check the currency of an amount in a field of the account, which has the currency of the account."""
    if text.strip().upper() != account.currency:
        message = _("{value} is not the currency of the account, {currency}")
        raise FieldError("", message, "currency", {"value": text.strip()[:20], "currency": account.currency})
    return SKIPPED


def read_link(field: ImportField, mapping: ColumnMapping, text: str) -> object:
    text = unguard(text).strip()
    chosen = mapping.values.get(text)
    if chosen == SKIP:
        return SKIPPED
    if chosen == CREATE:
        return NewChoice(text)
    return LinkText(field, chosen or text)


def join_links(*links: LinkText) -> LinkText:
    """Return one link for cells that name the same row. Its external id counts most, and its name least."""
    texts = [text for link in links for text in (replace(link, others=()), *link.others)]
    first, *others = sorted(texts, key=lambda text: (text.way == "name", not text.way.startswith("external_ids")))
    ids = keys_of(first.way, first.text)
    return replace(first, others=tuple(replace(text, text=split_names(text.text, len(ids))[0]) for text in others))


def split(text: str) -> list[str]:
    """Return the items of a list in a cell, which may be JSON. An item in quotes may have a separator, as in exports."""
    items = split_list(text) if '"' in text else SEPARATORS.split(text)
    if text.lstrip().startswith("["):
        with suppress(ValueError, RecursionError):
            items = list(map(str, json.loads(text)))
    return [item.strip() for item in items if item.strip()]


def read_choice(field: ImportField, mapping: ColumnMapping, unknown: str, text: str) -> object:
    """Return the choice that a text means. Raise FieldError for an unknown one, if it is a fault."""
    text = text.strip()
    chosen = mapping.values.get(text)
    if chosen == SKIP:
        return SKIPPED
    if chosen == CREATE:
        return NewChoice(text)
    wanted = fold(chosen or text)
    found = next((choice for choice in field.field.choices if fold(choice) == wanted), None)
    if found is not None or not field.field.definition:
        return found or chosen or text
    if unknown == Unknown.FAULT:
        raise FieldError(field.name, _("“{value}” is not one of the choices"), "choice", {"value": text[:100]})
    return NewChoice(text) if unknown == Unknown.CREATE else SKIPPED


def read_choices(field: ImportField, mapping: ColumnMapping, unknown: str, text: str) -> object:
    parts = [text.strip()] if text.strip() in mapping.values else split(text)
    found = [read_choice(field, mapping, unknown, part) for part in parts]
    return [choice for choice in found if choice is not SKIPPED] or SKIPPED


def read_time(text: str, field: str = "created_at") -> datetime:
    """Return the time of a row of the file. Raise FieldError for one in the future."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise FieldError(field, _("“{value}” is not a time"), "time", {"value": text[:100]}) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if moment > timezone.now():
        raise FieldError(field, _("is in the future"), "future")
    return moment
