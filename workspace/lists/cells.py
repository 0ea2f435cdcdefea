"""The values of a list as people see them: names instead of ids, dates, amounts."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from django.db.models import QuerySet
from django.utils import formats, timezone
from django.utils.translation import gettext as _

from accounts.models import Account, Status, User
from accounts.templatetags.statuses import status_name
from crm.fields import Field, FieldType
from workspace.lists.declarations import NEXT_TASK, SUM_NAMES, RecordList
from workspace.summaries import Revenue

# Longer texts are cut in a cell.
MAX_CELL_LENGTH = 80


@dataclass(frozen=True)
class Cell:
    """A value in a table. The template renders it by its type."""

    field: Field
    text: str = ""
    color: str = ""
    # The values of a list, such as tags.
    items: tuple[str, ...] = ()
    time: datetime | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.text or self.items or self.time)


@dataclass
class Names:
    """The names of the rows to which the rows of a list link, read with one statement for each kind."""

    users: dict[int, str] = field(default_factory=dict)
    statuses: dict[int, Status] = field(default_factory=dict)
    clients: dict[int, str] = field(default_factory=dict)
    contacts: dict[int, str] = field(default_factory=dict)

    @classmethod
    def read(cls, declaration: RecordList, account: Account, user: User, links: Iterable[tuple[Field, Any]]) -> "Names":
        """Return the names for pairs of a field and an id."""
        ids: defaultdict[FieldType, set[int]] = defaultdict(set)
        for each, id in links:
            if id is not None:
                ids[each.type].add(id)
        names = cls()
        if found := ids[FieldType.USER]:
            rows = account.users.filter(id__in=found).values_list("id", "name", "login")
            names.users = {id: name or login for id, name, login in rows}
        if ids[FieldType.STATUS]:
            names.statuses = {row.id: row for row in account.statuses_of_kind(declaration.status_kind)}
        if found := ids[FieldType.CLIENT]:
            names.clients = named(account.clients.live().accessible_to(user), found)
        if found := ids[FieldType.CONTACT]:
            names.contacts = named(account.contacts.live().accessible_to(user), found)
        return names

    def of(self, type: FieldType, id: int) -> str:
        """Return the name of a row, or its number if the user may not see it."""
        if type == FieldType.STATUS:
            return status_name(self.statuses[id]) if id in self.statuses else str(id)
        names = {FieldType.USER: self.users, FieldType.CLIENT: self.clients, FieldType.CONTACT: self.contacts}[type]
        return names.get(id, str(id))


def named(rows: QuerySet[Any], ids: set[int]) -> dict[int, str]:
    return dict(rows.filter(id__in=ids).values_list("id", "name"))


LINKS = (FieldType.USER, FieldType.STATUS, FieldType.CLIENT, FieldType.CONTACT)


def value_in(row: dict[str, Any], each: Field) -> Any:
    """Return the value of a field in a row of `values`."""
    return each.read_stored((row["additional_fields"] or {}).get(each.key)) if each.key else row[each.name]


def cell_of(row: dict[str, Any], each: Field, names: Names) -> Cell:
    value = value_in(row, each)
    if value is None or value == "":
        return Cell(each)
    if each.type in LINKS:
        color = names.statuses[value].color if each.type == FieldType.STATUS and value in names.statuses else ""
        return Cell(each, text=names.of(each.type, value), color=color or "")
    if each.name == NEXT_TASK.name:
        return Cell(each, text=formats.date_format(timezone.localtime(value), "SHORT_DATETIME_FORMAT"))
    if isinstance(value, datetime):
        return Cell(each, time=value if value.tzinfo else value.replace(tzinfo=UTC))
    if each.name in SUM_NAMES:
        return Cell(each, text=sums_text(value, each.name))
    if isinstance(value, list):
        return Cell(each, items=tuple(map(str, value)))
    return Cell(each, text=as_text(value, each, row)[:MAX_CELL_LENGTH])


def as_text(value: Any, each: Field, row: dict[str, Any]) -> str:
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    if isinstance(value, date):
        return formats.date_format(value, "SHORT_DATE_FORMAT")
    if isinstance(value, int | float | Decimal):
        places = 2 if each.type == FieldType.MONEY else None
        text = formats.number_format(value if places is not None else plain(value), places, force_grouping=True)
        return f"{text} {row['currency']}" if each.name == "price" and "currency" in row else text
    return str(value)


def sums_text(revenue: Iterable[Revenue], name: str) -> str:
    """Return the sums `open_sum` or `won_sum` in all currencies. Sums of no deals are left out."""
    return " · ".join(
        f"{formats.number_format(getattr(each, name), 2, force_grouping=True)} {each.currency}"
        for each in revenue
        if getattr(each, name.replace("_sum", "_deals"))
    )


def plain(number: int | float | Decimal) -> int | float | Decimal:
    """Return a decimal without zeros at its end."""
    if isinstance(number, Decimal):
        return number.to_integral_value() if number == number.to_integral_value() else number.normalize()
    return number
