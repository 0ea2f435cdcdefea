"""Clients and contacts that may be the same as one that somebody is about to create."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db import connection
from django.db.models import Model, QuerySet, Value
from django.db.models.expressions import RawSQL

from accounts.account.models import Account
from accounts.users.models import User
from core.search.queries import MAX_QUERY_LENGTH, search_transaction
from core.search.terms import Query, combine, has_part, matching
from crm.clients.models import email_key

# The number of rows of each kind that are shown, and that are compared by name.
MAX_SHOWN, MAX_COMPARED = 5, 200
MIN_NAME_LENGTH, MIN_TAX_NO_LENGTH = 3, 6


class SimilarityReason(StrEnum):
    """The reason why two rows are similar. The strongest reason comes first."""

    EMAIL = "email"
    TAX_NO = "tax_no"
    NAME = "name"


@dataclass(frozen=True)
class Similar:
    """A client or a contact (`kind`) that is similar to the given values."""

    kind: str
    id: int
    name: str
    email: str | None
    reason: SimilarityReason


def find_similar(account: Account, user: User, *, name: str = "", email: str = "", tax_no: str = "") -> list[Similar]:
    """Return the clients and contacts that the user may access and that have the e-mail, the tax number or a similar name.

    It takes two statements. Each condition is looked up in an index, and finds a limited number of rows.
    """
    kinds: dict[str, QuerySet[Model]] = {
        "client": account.clients.live().accessible_to(user),
        "contact": account.contacts.live().accessible_to(user),
    }
    key = email_key(email)
    # The code of the country may be missing.
    digits = re.sub(r"^[a-z]{2}", "", re.sub(r"[^0-9a-z]", "", tax_no.lower()))
    with search_transaction(account.id, name[:MAX_QUERY_LENGTH]) as query:
        branches = []
        for kind, rows in kinds.items():
            if key:
                branches.append(_first(kind, SimilarityReason.EMAIL, rows.filter(email_key=key)))
            if kind == "client" and len(digits) >= MIN_TAX_NO_LENGTH:
                # The index finds the number among all numbers of a client.
                has_number = ("search.compact(tax_no) LIKE %s", [f"%{digits}%"])
                with_number = matching(rows, combine("AND", (has_part(), [account.id, digits]), has_number))
                branches.append(_first(kind, SimilarityReason.TAX_NO, with_number))
            if len(query.text) >= MIN_NAME_LENGTH:
                branches.append(_select_by_name(kind, rows, query))
        if not branches:
            return []
        with connection.cursor() as cursor:
            cursor.execute(
                " UNION ALL ".join(f"({sql})" for sql, _ in branches),
                [value for _, values in branches for value in values],
            )
            found = [
                Similar(kind, id, row_name, row_email, SimilarityReason(reason))
                for kind, id, row_name, row_email, reason in cursor.fetchall()
            ]
    order = [*SimilarityReason]
    best: dict[int, Similar] = {}
    for similar in sorted(found, key=lambda similar: order.index(similar.reason)):
        best.setdefault(similar.id, similar)
    return list(best.values())[: 2 * MAX_SHOWN]


def _columns(rows: QuerySet[Model], kind: str, reason: SimilarityReason) -> QuerySet[Model, object]:
    return rows.order_by().values_list(Value(kind), "id", "name", "email", Value(reason.value))


def _first(kind: str, reason: SimilarityReason, rows: QuerySet[Any]) -> tuple[str, list[Any]]:
    sql, values = _columns(rows, kind, reason)[:MAX_SHOWN].query.sql_with_params()
    return sql, list(values)


def _select_by_name(kind: str, rows: QuerySet[Model], query: Query) -> tuple[str, list[object]]:
    """Return the statement for the rows whose short texts have all terms of the query or their variants, the most similar first."""
    candidates = (
        matching(rows, query.prefixes_or_variants())
        .order_by()
        .values_list("id", "name", "email", RawSQL("search_name", []))
    )
    sql, values = candidates[:MAX_COMPARED].query.sql_with_params()
    text = f"""
        SELECT %s, id, name, email, %s FROM ({sql}) AS candidate (id, name, email, search_name)
        WHERE similarity(search_name, %s) > 0.3 ORDER BY similarity(search_name, %s) DESC, id LIMIT {MAX_SHOWN}
    """  # noqa: S608
    return text, [kind, SimilarityReason.NAME.value, *values, query.text, query.text]
