"""The values of the rows of a list, and the fields of a record, as people see them: names instead of ids, dates, amounts."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from django.db.models import Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import JSONObject
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.account.models import Account
from accounts.fields.catalogue import REASON_NAMES, Field, builtin_fields
from accounts.statuses.models import Status, reason_text, status_name
from core.api.routing import path_with_id
from core.pages.formatting import amount_text, date_text, number_text
from core.rows.access import Access
from core.rows.declared import FieldType
from core.rows.values import ValuesRow
from crm.resources.models import CRMResource
from team.fields.forms import currency_of, display
from team.fields.names import LINKS, RECORDS, Names, href_of, name_of_row, name_of_user
from team.summaries.models import NEXT_TASK, SUM_NAMES, Revenue

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


# The dates at which something is due, and the column that tells that it is done; "" if a done one has no date.
DUE_DATES = {NEXT_TASK.name: "", "scheduled_at": "closed", "expected_close_date": "closed_at"}


def is_late(row: ValuesRow, field: Field, value: date) -> bool:
    """Return whether something was due on an earlier day and is still to be done."""
    if field.name not in DUE_DATES:
        return False
    day = timezone.localdate(value) if isinstance(value, datetime) else value
    return day < timezone.localdate() and not row.get(DUE_DATES[field.name])


def value_in(row: ValuesRow, field: Field) -> Any:
    """Return the value of a field in a row of `values`."""
    return field.read_stored((row["additional_fields"] or {}).get(field.key)) if field.key else row[field.name]


def cells_of(
    row: ValuesRow,
    fields: Iterable[Field],
    names: Names,
    currency: str,
    *,
    edit_route: str,
    max_length: int = MAX_CELL_LENGTH,
) -> list[Cell]:
    """Return the cells of a row, each with the path of its form if there is a route for it. `currency` is that of the account."""
    path = path_with_id(edit_route, row["id"]) if edit_route else ""
    cells = [cell_of(row, field, names, currency, max_length) for field in fields]
    for cell in cells:
        if path and not cell.field.read_only:
            cell.edit_path = path + edit_query(cell.field.name)
    return cells


@lru_cache(maxsize=1_000)
def edit_query(field: str) -> str:
    """Return the query string of the form of a field. Each row of a list has the same ones."""
    return "?" + urlencode({"field": field})


def cell_of(row: ValuesRow, field: Field, names: Names, currency: str, max_length: int) -> Cell:
    """Return the cell for a row of `values`. `currency` is that of the account."""
    value = value_in(row, field)
    if value is None or value == "":
        return Cell(field)
    if field.type in LINKS:
        color = names.colors.get(value, "") if field.type == FieldType.STATUS else ""
        href = href_of(field, value) if (field.type, value) in names.names else ""
        return Cell(field, text=names.get_name(field.type, value), color=color, href=href)
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return Cell(field, time=moment, is_late=is_late(row, field, moment))
    if field.name in SUM_NAMES:
        return Cell(field, text=sums_text(value, field.name))
    if field.name in REASON_NAMES:
        value = reason_text(value)
    if isinstance(value, list):
        return Cell(field, items=tuple(map(str, value)))
    href = href_of(field, value) if field.type in (FieldType.EMAIL, FieldType.LINK) else ""
    late = isinstance(value, date) and is_late(row, field, value)
    return Cell(field, text=as_text(value, field, row, currency)[:max_length], href=href, is_late=late)


def currency_in(row: ValuesRow, field: Field, currency: str) -> str:
    """Return the currency of an amount in a row of `values`: the price of a deal has its own, other amounts have that of the account."""
    return row["currency"] or currency if field.name == "price" else currency


def as_text(value: object, field: Field, row: ValuesRow, currency: str) -> str:
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    if isinstance(value, date):
        return date_text(value)
    if isinstance(value, int | float | Decimal):
        if field.type != FieldType.MONEY:
            return number_text(value)
        text = amount_text(value, currency_in(row, field, currency))
        return f"{text} {row['currency']}" if field.name == "price" else text
    return str(value)


def sums_text(revenue: Iterable[Revenue], name: str, *, is_grouped: bool = True) -> str:
    """Return the sums `open_sum` or `won_sum` in all currencies. Sums of no deals are left out."""
    return " · ".join(
        f"{amount_text(getattr(total, name), total.currency, is_grouped=is_grouped)} {total.currency}"
        for total in revenue
        if getattr(total, name.replace("_sum", "_deals"))
    )


# The fields of a record


def name_column(column: str) -> str:
    """Return the annotation with the name of the row whose id is in a column."""
    return column.removesuffix("_id") + "_name"


def status_of_row() -> Subquery:
    """Return the status of the row as a JSON object. `as_status` makes it a `Status`."""
    statuses = Status.objects.filter(account_id=OuterRef("account_id"), id=OuterRef("status_id"))
    columns = {name: name for name in ("kind", "code", "name", "color", "closed")}
    return Subquery(statuses.values(found=JSONObject(**columns))[:1])


def with_linked_names(rows: QuerySet[Model], resource: str, account: Account, access: Access) -> QuerySet[Model]:
    """Add what `fact_of` needs: the status, and the names of the users and of the rows of the access that the fields name."""
    found: dict[str, Subquery] = {name_column("trashed_by_id"): name_of_user("trashed_by_id")}
    for field in builtin_fields(resource):
        if field.type == FieldType.USER:
            found[name_column(field.name)] = name_of_user(field.name)
        elif field.type == FieldType.STATUS:
            found["status_data"] = status_of_row()
        elif field.type in RECORDS:
            linked = getattr(account, f"{field.type}s").live().limited_to(access)
            found[name_column(field.name)] = name_of_row(linked, field.name)
    result: QuerySet[Model] = rows.annotate(**found)
    return result


def as_status(values: dict[str, str] | None) -> Status | None:
    return Status(**values) if values else None


@dataclass(frozen=True)
class Fact:
    """A field of a record, with its value as the page shows it."""

    field: Field
    text: str
    href: str = ""
    # The path of the form that changes the value; empty for a read-only field.
    edit_path: str = ""

    @property
    def is_long(self) -> bool:
        return self.field.type == FieldType.LONG_TEXT


# The header shows these fields.
HEADER_FIELDS = {"name", "creator_id", "created_at", "updater_id", "updated_at"}


def shown_fields(facts: list[Fact]) -> list[Field]:
    """Return the fields that the groups of the page show: those with a value, and always the most important ones."""
    return [fact.field for fact in facts if fact.text and fact.field.name not in HEADER_FIELDS]


def fact_of(row: CRMResource, field: Field) -> Fact:
    """Return a field of an annotated row. It takes no statement."""
    value = field.value_of(row)
    if field.type == FieldType.STATUS:
        status = as_status(getattr(row, "status_data", None))
        text = status_name(status) if status else ""
    elif field.type in LINKS:
        # The annotations of the page have the names of linked rows.
        text = getattr(row, name_column(field.name), None) or ""
    elif field.name == "do_not_contact" and not value:
        # Like an empty field: only the exception is shown.
        text = ""
    else:
        text = display(field, value, row.account, None, currency=currency_of(field, row, row.account))
    route = f"team-{row._meta.model_name}-edit"
    edit_path = "" if field.read_only else reverse(route, args=[row.id], query={"field": field.name})
    # The row of a link without a name is in the trash, or the user may not access it.
    return Fact(field, text, href_of(field, value) if text else "", edit_path)
