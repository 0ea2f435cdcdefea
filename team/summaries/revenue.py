"""The numbers and sums of open and won deals per currency, computed from the deals that a user may access."""

from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

from django.db.models import Case, Count, Model, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Coalesce

from accounts.account.models import Account
from accounts.statuses.models import Status
from core.rows.access import Access
from core.rows.values import ValuesRow


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
