"""The values of a list as people see them: names instead of ids, dates, amounts."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlencode

from django.db.models import CharField, F, QuerySet, Value
from django.db.models.functions import Cast, Coalesce, NullIf
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.default_names import reason_text, status_name
from accounts.models import Account, Status, User
from core.pages.formatting import amount_text, date_text, number_text
from core.pages.routes import path_with_id
from crm.fields import REASON_NAMES, Field, FieldType
from workspace.lists.declarations import NEXT_TASK, SUM_NAMES, RecordList
from workspace.revenue import Revenue

# Longer texts are cut in a cell.
MAX_CELL_LENGTH = 80


@dataclass(slots=True)
class Cell:
    """A value in a table. The template renders it by its type."""

    field: Field
    text: str = ""
    color: str = ""
    # The values of a list, such as tags.
    items: tuple[str, ...] = ()
    time: datetime | None = None
    # The address to which the value links; "" for none.
    href: str = ""
    # True for a date in the past at which something is still to be done.
    is_late: bool = False
    # The path of the form that changes the value; "" if it can't be changed in the list.
    edit_path: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.text or self.items or self.time)

    @property
    def is_relative(self) -> bool:
        """True for the time of something that happened, which is shown as "2 days ago"."""
        return self.field.read_only and self.field.name != NEXT_TASK.name


# The types of fields that link to other rows.
LINKS = (FieldType.USER, FieldType.STATUS, FieldType.CLIENT, FieldType.CONTACT, FieldType.DEAL)
Ids = dict[FieldType, set[int]]


@dataclass
class Names:
    """The names of the rows to which the rows of a list link, read with one statement."""

    names: dict[tuple[FieldType, int], str] = field(default_factory=dict)
    colors: dict[int, str] = field(default_factory=dict)

    @classmethod
    def read(cls, account: Account, user: User, links: Iterable[tuple[FieldType, Any]]) -> "Names":
        """Return the names for pairs of the type of a field and an id. A row that the user may not access, or that is in the trash, has none."""
        ids: Ids = defaultdict(set)
        for each, id in links:
            if id is not None:
                ids[each].add(id)
        names = cls()
        queries = [linked_rows(account, user, type, found) for type, found in ids.items()]
        if not queries:
            return names
        for type, id, name, kind, code, color in queries[0].union(*queries[1:], all=True):
            status = Status(kind=kind, code=code, name=name)
            names.names[FieldType(type), id] = status_name(status) if type == FieldType.STATUS else name
            if color:
                names.colors[id] = color
        return names

    def has(self, type: FieldType, id: int) -> bool:
        return (type, id) in self.names

    def of(self, type: FieldType, id: int) -> str:
        """Return the name of a row, or its number if the user may not see it."""
        return self.names.get((type, id), str(id))


def linked_rows(account: Account, user: User, type: FieldType, ids: set[int]) -> QuerySet[Any, Any]:
    """Return the type, id, name, kind, code and color of rows to which fields link. The last three are those of statuses."""
    nothing = Value("", CharField())
    of_status: tuple[Any, Any, Any] = (nothing, nothing, nothing)
    name: Any = Cast("name", CharField())
    rows: Any
    if type == FieldType.STATUS:
        rows, of_status = account.statuses.all(), (F("kind"), F("code"), F("color"))
    elif type == FieldType.USER:
        rows, name = account.users.all(), Coalesce(NullIf("name", nothing), F("login"))
    else:
        rows = getattr(account, COLLECTIONS[type]).live().accessible_to(user)
    return rows.filter(id__in=ids).order_by().values_list(Value(str(type), CharField()), "id", name, *of_status)


COLLECTIONS = {FieldType.CLIENT: "clients", FieldType.CONTACT: "contacts", FieldType.DEAL: "deals"}
ROUTES = {
    FieldType.CLIENT: "workspace-client",
    FieldType.CONTACT: "workspace-contact",
    FieldType.DEAL: "workspace-deal",
}
# The dates at which something is due, and the column that tells that it is done; "" if a done one has no date.
DUE_DATES = {NEXT_TASK.name: "", "scheduled_at": "closed", "expected_close_date": "closed_at"}


def href_of(field: Field, value: Any) -> str:
    """Return the address to which a value links."""
    if value in (None, ""):
        return ""
    if field.type in ROUTES:
        return path_with_id(ROUTES[field.type], value)
    match field.type:
        case FieldType.EMAIL:
            return f"mailto:{quote(value, safe='@')}"
        case FieldType.PHONE:
            return "tel:" + "".join(sign for sign in str(value) if sign.isdigit() or sign == "+")
        case FieldType.LINK:
            address = str(value)
            if address.lower().startswith(("http://", "https://")):
                return address
            return f"https://{address}" if "." in address and " " not in address and ":" not in address else ""
    return ""


def is_late(row: dict[str, Any], each: Field, value: date) -> bool:
    """Return whether something was due on an earlier day and is still to be done."""
    if each.name not in DUE_DATES:
        return False
    day = timezone.localdate(value) if isinstance(value, datetime) else value
    return day < timezone.localdate() and not row.get(DUE_DATES[each.name])


def value_in(row: dict[str, Any], each: Field) -> Any:
    """Return the value of a field in a row of `values`."""
    return each.read_stored((row["additional_fields"] or {}).get(each.key)) if each.key else row[each.name]


def cells_of(
    declaration: RecordList, row: dict[str, Any], fields: Iterable[Field], names: Names, currency: str
) -> list[Cell]:
    """Return the cells of a row, each with the path of its form if the list is editable. `currency` is that of the account."""
    path = path_with_id(declaration.edit_route, row["id"]) if declaration.edit_route else ""
    cells = [cell_of(row, each, names, currency) for each in fields]
    for cell in cells:
        if path and not cell.field.read_only:
            cell.edit_path = path + edit_query(cell.field.name)
    return cells


@lru_cache(maxsize=1_000)
def edit_query(field: str) -> str:
    """Return the query string of the form of a field. Each row of a list has the same ones."""
    return "?" + urlencode({"field": field})


def read_cell(declaration: RecordList, account: Account, user: User, id: int, each: Field) -> Cell | None:
    """Return the cell of one row, or None if the user may not access the row."""
    columns = {"id", each.column, *declaration.further_columns}
    row = declaration.rows_of(account, user).filter(id=id).values(*columns).first()
    if row is None:
        return None
    links = [(each.type, value_in(row, each))] if each.type in LINKS else []
    return cells_of(declaration, row, [each], Names.read(account, user, links), account.currency)[0]


def cell_of(row: dict[str, Any], each: Field, names: Names, currency: str) -> Cell:
    """Return the cell for a row of `values`. `currency` is that of the account."""
    value = value_in(row, each)
    if value is None or value == "":
        return Cell(each)
    if each.type in LINKS:
        color = names.colors.get(value, "") if each.type == FieldType.STATUS else ""
        href = href_of(each, value) if names.has(each.type, value) else ""
        return Cell(each, text=names.of(each.type, value), color=color, href=href)
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return Cell(each, time=moment, is_late=is_late(row, each, moment))
    if each.name in SUM_NAMES:
        return Cell(each, text=sums_text(value, each.name))
    if each.name in REASON_NAMES:
        value = reason_text(value)
    if isinstance(value, list):
        return Cell(each, items=tuple(map(str, value)))
    href = href_of(each, value) if each.type in (FieldType.EMAIL, FieldType.LINK) else ""
    late = isinstance(value, date) and is_late(row, each, value)
    return Cell(each, text=as_text(value, each, row, currency)[:MAX_CELL_LENGTH], href=href, is_late=late)


def currency_in(row: dict[str, Any], each: Field, currency: str) -> str:
    """Return the currency of an amount in a row of `values`: the price of a deal has its own, other amounts have that of the account."""
    return row["currency"] or currency if each.name == "price" else currency


def as_text(value: Any, each: Field, row: dict[str, Any], currency: str) -> str:
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    if isinstance(value, date):
        return date_text(value, "SHORT_DATE_FORMAT")
    if isinstance(value, int | float | Decimal):
        if each.type != FieldType.MONEY:
            return number_text(value)
        text = amount_text(value, currency_in(row, each, currency))
        return f"{text} {row['currency']}" if each.name == "price" else text
    return str(value)


def sums_text(revenue: Iterable[Revenue], name: str, *, is_grouped: bool = True) -> str:
    """Return the sums `open_sum` or `won_sum` in all currencies. Sums of no deals are left out."""
    return " · ".join(
        f"{amount_text(getattr(each, name), each.currency, is_grouped=is_grouped)} {each.currency}"
        for each in revenue
        if getattr(each, name.replace("_sum", "_deals"))
    )
