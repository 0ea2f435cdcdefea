"""The fields of a record as its page shows them."""

from dataclasses import dataclass

from django.db.models import Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import JSONObject
from django.urls import reverse

from accounts.account.models import Account
from accounts.statuses.models import Status, status_name
from core.rows.access import Access
from core.rows.declared import FieldType
from crm.fields.catalogue import Field, builtin_fields
from crm.resources.models import CRMResource
from team.fields.forms import currency_of, display
from team.fields.names import LINKS, RECORDS, href_of, name_of_row, name_of_user


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
