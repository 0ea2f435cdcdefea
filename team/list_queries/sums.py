"""The sums of the amounts in a list, over all rows that pass the filters: per currency, and converted into the currency of the account."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import DecimalField, Model, QuerySet, Sum
from django.db.models.expressions import RawSQL

from accounts.account.exchange_rates import ConvertedSum
from accounts.account.models import Account
from accounts.fields.catalogue import Field
from core.rows.declared import FieldType
from core.search.queries import search_transaction
from team.list_queries.queries import ListQuery
from team.summaries.models import SUM_NAMES, revenue_by

# The value of an additional field as a number, and null for other values.
NUMBER_OF_FIELD = """
CASE jsonb_typeof(additional_fields -> %s) WHEN 'number' THEN (additional_fields ->> %s)::numeric
WHEN 'string' THEN CASE WHEN additional_fields ->> %s ~ '^-?[0-9]{1,14}(\\.[0-9]{1,6})?$' THEN (additional_fields ->> %s)::numeric END END
"""


@dataclass(frozen=True)
class ColumnSum:
    # The currencies with their sums, that of the account first.
    amounts: list[tuple[str, Decimal]]
    # None if all amounts are in the currency of the account.
    converted: ConvertedSum | None


def summed_fields(query: ListQuery) -> list[Field]:
    """Return the shown fields with amounts of money."""
    return [field for field in query.shown_fields if field.type == FieldType.MONEY]


def read_sums(query: ListQuery, fields: Iterable[Field]) -> dict[str, ColumnSum]:
    """Return the sums of fields with amounts, by name. Raise TooSlow."""
    with search_transaction(query.account.id, query.q, is_limited=True) as text:
        return add_up(query, fields, query.search_ids(text) if query.q else None)


def add_up(query: ListQuery, fields: Iterable[Field], found_ids: list[int] | None) -> dict[str, ColumnSum]:
    """Return the sums as `read_sums` does. The caller has opened a transaction of a search, and `found_ids` are those of its rows."""
    fields, account = list(fields), query.account
    found: dict[str, list[tuple[str, Decimal]]] = {field.name: [] for field in fields}
    rows = query.rows if found_ids is None else query.list_rows.filter(id__in=found_ids)
    own = [field for field in fields if field.key]
    columns = {f"own{number}": Sum(number_of(field)) for number, field in enumerate(own)}
    for row in totals(rows, columns, has_price="price" in found):
        currency = row.get("currency") or account.currency
        for number, field in enumerate(own):
            found[field.name].append((account.currency, row[f"own{number}"] or Decimal(0)))
        if "price" in found:
            found["price"].append((currency, row["price_sum"] or Decimal(0)))
    if names := [name for name in SUM_NAMES if name in found]:
        clients = {"client_id__in": rows.order_by().values("id")}
        if query.user.access.is_limited:
            revenue: Any = revenue_by(account, query.user.access, "currency", **clients)
        else:
            totals_of_names = {f"{name}_total": Sum(name) for name in names}
            revenue = (
                account.client_revenues.filter(**clients).order_by().values("currency").annotate(**totals_of_names)
            )
        for row in revenue:
            for name in names:
                found[name].append((row["currency"], row.get(f"{name}_total", row.get(name)) or Decimal(0)))
    return {name: column_sum(account, amounts) for name, amounts in found.items()}


def totals(rows: QuerySet[Model], columns: dict[str, Any], *, has_price: bool) -> list[dict[str, Any]]:
    """Return the sums of the columns, for deals by currency."""
    if has_price:
        return list(rows.order_by().values("currency").annotate(price_sum=Sum("price"), **columns))
    return [rows.order_by().aggregate(**columns)] if columns else []


def number_of(field: Field) -> RawSQL:
    return RawSQL(NUMBER_OF_FIELD, [field.key] * 4, output_field=DecimalField())  # noqa: S611, the text has no input


def column_sum(account: Account, amounts: list[tuple[str, Decimal]]) -> ColumnSum:
    """Return the sum of amounts: added up by currency, without currencies whose sum is 0."""
    by_currency: dict[str, Decimal] = {}
    for currency, amount in amounts:
        by_currency[currency] = by_currency.get(currency, Decimal(0)) + amount
    ordered = sorted(by_currency.items(), key=lambda pair: (pair[0] != account.currency, pair[0]))
    shown = [(currency, amount) for currency, amount in ordered if amount]
    is_foreign = any(currency != account.currency for currency, _amount in shown)
    return ColumnSum(shown, account.convert(shown) if is_foreign else None)
