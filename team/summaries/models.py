"""Summaries: the values of clients, contacts and deals by which lists are ordered and filtered, stored in narrow tables.

- `last_activity_at` is the time of the last contact on the timeline of the row (`timeline.ACTIVITY_KINDS`), or of its creation if there was
  none. The timeline of a client includes those of its contacts and deals. Edits of fields are no contact.
- `next_task_at` is the earliest time for which an open task of the row is planned; for a contact also of its deals, and for a
  client also of its contacts and deals. It may be in the past. Tasks without a time are not planned.
- `ClientRevenue` has the numbers and sums of the open and the won deals of a client, per currency. A deal without a status is open.
  `open_sum` and `won_sum` of the client's summary are those in the currency of the account, 0 without deals.

Every client, contact and deal has a summary. It is empty while the row is in the trash. `team.timeline.derivations` keeps the summaries up to
date, with the function `team_update_summaries`. Two changes affect more rows than a transaction can update, so jobs follow them: another outcome of a
status, and another currency of the account (`team.summaries.jobs`).

Both times are properties of the row, like `updated_at`: a user who may access the row sees them, even if they come from a row that the
user may not access. Sums are different: a user who may access only a part of the deals sees the sums of these (`revenue_of`), and no list
in the order of the stored sums.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

from django.contrib.postgres.expressions import ArraySubquery
from django.db import models
from django.db.models import Case, Count, F, Model, OuterRef, Q, QuerySet, Subquery, Sum, Value, When
from django.db.models.functions import Cast, Coalesce, JSONObject
from django.utils.translation import gettext_lazy as _
from psycopg.types.numeric import Int8

from accounts.account.models import Account
from accounts.fields.catalogue import Field
from accounts.statuses.models import Status
from core.db.derived import Key
from core.db.prepared import array_literal, fetch
from core.db.tenancy import foreign_object
from core.rows.access import Access
from core.rows.declared import FieldType
from core.rows.values import ValuesRow
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.deals.models import Deal

# The fields that summaries store. Each is an order of the list, which has an index.
LAST_ACTIVITY = Field("last_activity_at", _("Last activity"), FieldType.TIME, read_only=True, in_lists=True)
NEXT_TASK = Field("next_task_at", _("Next task"), FieldType.TIME, read_only=True)
# Filters and orders use the sums in the currency of the account. Cells show those in all currencies.
SUMS = (
    Field("open_sum", _("Open deals"), FieldType.MONEY, read_only=True, in_lists=True),
    Field("won_sum", _("Won deals"), FieldType.MONEY, read_only=True),
)
SUM_NAMES = tuple(column.name for column in SUMS)
# The columns of a summary, without the account and the id of its row.
COLUMNS = {
    "deal": ("client_id", "contact_id", "last_activity_at", "next_task_at", "outcome", "currency", "price"),
    "contact": ("client_id", "last_activity_at", "next_task_at"),
    "client": ("last_activity_at", "next_task_at", "open_sum", "won_sum"),
}


@dataclass(frozen=True)
class Revenue:
    """The numbers and sums of open and won deals in one currency, as far as a user may access the deals."""

    currency: str
    open_deals: int
    open_sum: Decimal
    won_deals: int
    won_sum: Decimal


FIGURES = ("open_deals", "open_sum", "won_deals", "won_sum")
RowT = TypeVar("RowT")


def revenue_by(account: Account, access: Access, *columns: str, **filters: object) -> QuerySet[Model, ValuesRow]:
    """Return the figures of the deals of the access, as dicts by these columns, such as `client_id` and `currency`.

    `filters` select the deals.
    """
    deals: QuerySet[Model] = account.deals.live().limited_to(access).with_outcome().filter(**filters)
    figures: dict[str, object] = {}
    for outcome in (Status.Outcome.OPEN, Status.Outcome.WON):
        figures[f"{outcome}_deals"] = Count("id", filter=Q(outcome=outcome))
        figures[f"{outcome}_sum"] = Coalesce(Sum("price", filter=Q(outcome=outcome)), Decimal(0))
    deals = deals.filter(outcome__in=(Status.Outcome.OPEN, Status.Outcome.WON)).order_by()
    found: QuerySet[Model, ValuesRow] = deals.values(*columns).annotate(**figures)
    return found


def order_by_currency(account: Account, rows: QuerySet[Model, RowT], *first: str) -> QuerySet[Model, RowT]:
    """Order rows by the columns `first`, then by currency: that of the account comes before the others."""
    is_other = Case(When(currency=account.currency, then=Value(0)), default=Value(1))
    return rows.order_by(*first, is_other, "currency")


def as_revenue(row: ValuesRow) -> Revenue:
    return Revenue(row["currency"], *(row[name] for name in FIGURES))


class Summary(models.Model):
    """The stored values of a row. The ids are copies, which the foreign keys of the copied columns check."""

    account = models.ForeignKey(Account, models.CASCADE, db_index=False, db_constraint=False)
    # Null while the row is in the trash.
    last_activity_at = models.DateTimeField(null=True)
    next_task_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self._meta.model_name} {self.pk}"


def order_indexes(kind: str, *columns: str) -> list[models.Index]:
    """Return the indexes for the lists of a kind in the order of these columns."""
    return [
        models.Index(
            fields=["account", column, f"{kind}_id"],
            name=f"{kind}_by_{column}",
            condition=Q(last_activity_at__isnull=False),
        )
        for column in columns
    ]


def link_indexes(kind: str, target: str) -> list[models.Index]:
    """Return the indexes for the latest activity and the next task of the rows that link to a client or a contact."""
    return [
        models.Index(
            fields=["account", f"{target}_id", column],
            name=f"{kind}_of_{target}_by_{name}",
            condition=Q(**{f"{target}_id__isnull": False, f"{column}__isnull": False}),
        )
        for name, column in (("activity", "last_activity_at"), ("task", "next_task_at"))
    ]


class ClientSummary(Summary):
    pk = models.CompositePrimaryKey("account_id", "client_id")
    client_id = models.BigIntegerField()
    client = foreign_object(Client, "client_id", related_name="stored_summary")
    open_sum = models.DecimalField(max_digits=30, decimal_places=6, default=0)
    won_sum = models.DecimalField(max_digits=30, decimal_places=6, default=0)

    class Meta:
        default_related_name = "client_summaries"
        indexes = order_indexes("client", "last_activity_at", "next_task_at", "open_sum", "won_sum")


class ContactSummary(Summary):
    pk = models.CompositePrimaryKey("account_id", "contact_id")
    contact_id = models.BigIntegerField()
    contact = foreign_object(Contact, "contact_id", related_name="stored_summary")
    # The client of the contact.
    client_id = models.BigIntegerField(null=True)

    class Meta:
        default_related_name = "contact_summaries"
        indexes = [*order_indexes("contact", "last_activity_at", "next_task_at"), *link_indexes("contact", "client")]


class DealSummary(Summary):
    """The stored values of a deal, and copies of the values with which `ClientRevenue` counts it."""

    pk = models.CompositePrimaryKey("account_id", "deal_id")
    deal_id = models.BigIntegerField()
    deal = foreign_object(Deal, "deal_id", related_name="stored_summary")
    client_id = models.BigIntegerField(null=True)
    contact_id = models.BigIntegerField(null=True)
    outcome = models.TextField(null=True)
    currency = models.TextField(null=True)
    price = models.DecimalField(max_digits=20, decimal_places=6, null=True)

    class Meta:
        default_related_name = "deal_summaries"
        indexes = order_indexes("deal", "last_activity_at", "next_task_at")
        indexes += [*link_indexes("deal", "client"), *link_indexes("deal", "contact")]


class ClientRevenue(models.Model):
    """The numbers and sums of the open and the won deals of a client in one currency."""

    pk = models.CompositePrimaryKey("account_id", "client_id", "currency")
    account = models.ForeignKey(Account, models.CASCADE, db_index=False, db_constraint=False)
    client_id = models.BigIntegerField()
    currency = models.TextField()
    open_deals = models.IntegerField()
    open_sum = models.DecimalField(max_digits=30, decimal_places=6)
    won_deals = models.IntegerField()
    won_sum = models.DecimalField(max_digits=30, decimal_places=6)

    class Meta:
        default_related_name = "client_revenues"

    def __str__(self) -> str:
        return f"{self.currency} of client {self.client_id}: {self.open_sum} open, {self.won_sum} won"


def with_revenue(rows: QuerySet[Model], account: Account, access: Access) -> QuerySet[Model]:
    """Annotate clients with their `revenue`. `revenue_of` returns it.

    With a limited access, these are the sums of the deals of the access, which are added up when they are read.
    """
    sums = {name: Cast(name, models.CharField()) for name in ("open_sum", "won_sum")}
    columns = {name: F(name) for name in ("currency", "open_deals", "won_deals")}
    revenue: QuerySet[Model, object] = account.client_revenues.all()
    if access.is_limited:
        revenue = revenue_by(account, access, "client_id", "currency")
    data = revenue.filter(client_id=OuterRef("id")).annotate(data=JSONObject(**columns, **sums)).values("data")
    found: QuerySet[Model] = rows.annotate(revenue=ArraySubquery(data))
    return found


def revenue_of(values: list[ValuesRow], account: Account) -> list[Revenue]:
    """Return the revenue of a client from the annotation `revenue`. The currency of the account comes first, then the others by name."""
    sums = ("open_sum", "won_sum")
    found = [as_revenue(value | {name: Decimal(value[name]) for name in sums}) for value in values]
    return sorted(found, key=lambda total: (total.currency != account.currency, total.currency))


def last_activity_of_client() -> Subquery:
    """Return the time of the last activity, for querysets of clients. A join could not be locked."""
    summaries = ClientSummary.objects.filter(account_id=OuterRef("account_id"), client_id=OuterRef("id"))
    return Subquery(summaries.values("last_activity_at"))


def with_summary(rows: QuerySet[Model], *columns: str) -> QuerySet[Model]:
    """Annotate clients, contacts or deals with columns of their summaries."""
    found: QuerySet[Model] = rows.annotate(**{column: F(f"stored_summary__{column}") for column in columns})
    return found


def with_stored_values(rows: QuerySet[Model], resource: str, account: Account, access: Access) -> QuerySet[Model]:
    """Annotate clients, contacts or deals with both times, and clients with their `revenue` too. It adds no statement."""
    rows = with_summary(rows, "last_activity_at", "next_task_at")
    return with_revenue(rows, account, access) if resource == "client" else rows


def update_summaries(
    account_id: int, *, deals: Sequence[int] = (), contacts: Sequence[int] = (), clients: Sequence[int] = ()
) -> None:
    """Update the summaries with these ids, and those of the rows to which they link."""
    fetch(
        "SELECT team_update_summaries(%s, %s::bigint[], %s::bigint[], %s::bigint[])",
        [Int8(account_id), *map(array_literal, (deals, contacts, clients))],
    )


def write_summaries(account_id: int, keys: list[Key]) -> None:
    """Update the summaries with these keys: pairs of "deal", "contact" or "client", and an id."""
    ids: dict[str, list[int]] = {"deals": [], "contacts": [], "clients": []}
    for kind, id in keys:
        ids[f"{kind}s"].append(id)
    update_summaries(account_id, **ids)
