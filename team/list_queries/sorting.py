"""The expressions of the orders of lists that no index has."""

from typing import Any

from django.db.models import Case, Expression, OuterRef, Subquery, Value, When
from django.db.models.expressions import F, RawSQL
from django.db.models.functions import Lower, NullIf

from accounts.account.models import Account
from accounts.fields.catalogue import Field
from accounts.users.models import User
from core.rows.declared import FieldType
from team.conditions.conditions import TEXTS
from team.fields.names import OF_FORUM, RECORDS, name_of_row, name_of_user
from team.list_queries.declarations import LISTS


def sort_expression(field: Field, resource: str, account: Account, user: User) -> "Expression | F | Subquery[Any]":
    """Return the expression of an order without an index.

    Links are in the order of the names, as far as the user may access the rows, and statuses in that of the account.
    """
    if field.key:
        # The order of jsonb: numbers by their value, texts by their letters.
        return RawSQL("nullif(additional_fields -> %s, 'null')", [field.key])
    if field.type == FieldType.STATUS:
        statuses = enumerate(account.statuses_of_kind(LISTS[resource].status_kind))
        return Case(*(When(**{field.name: status.id}, then=place) for place, status in statuses))
    if field.type == FieldType.USER:
        return Lower(name_of_user(field.name))
    if field.type in RECORDS:
        rows = getattr(account, f"{field.type}s").live().accessible_to(user).filter(id=OuterRef(field.name))
        return Subquery(rows.values(folded=RawSQL("search_name", []))[:1])
    if field.type in OF_FORUM:
        return Lower(name_of_row(getattr(account, OF_FORUM[field.type]).all(), field.name))
    if field.type in (*TEXTS, FieldType.LONG_TEXT, FieldType.CHOICE, FieldType.CURRENCY):
        return NullIf(Lower(field.name), Value(""))
    return F(field.name)
