"""The rows that a query of a list selects, for exports and changes of many rows, and what can be done with them."""

from array import array
from collections.abc import Iterable

from django.utils.functional import Promise

from core.db.time_limit import time_limit
from core.search.queries import search_transaction
from team.list_queries.queries import ListQuery

# The milliseconds that finding all rows of a query may take. A page of the list has a shorter limit.
TIME_LIMIT_MS = 8000
# The rows that one step reads from the cursor.
STEP = 10_000
# The values and labels of what can be done with selected rows, by resource. The rows of other lists can't be selected.
ACTIONS: dict[str, list[tuple[str, str | Promise]]] = {}


def register_actions(resource: str, actions: Iterable[tuple[str, str | Promise]]) -> None:
    """Offer actions for the selected rows of a list, after those that are offered already."""
    ACTIONS.setdefault(resource, []).extend(actions)


def count_selected(query: ListQuery, *, limit: int) -> int:
    """Return the number of rows that match, or `limit + 1` if there are more. Raise `TooSlow`."""
    if query.q:
        return len(selected_ids(query, limit=limit))
    with time_limit(TIME_LIMIT_MS), search_transaction(query.account.id):
        return query.rows.order_by()[: limit + 1].count()


def selected_ids(
    query: ListQuery, *, limit: int, ordered: bool = False, time_limit_ms: int = TIME_LIMIT_MS
) -> "array[int]":
    """Return the ids of the rows that match, at most `limit + 1`. With `ordered`, they are in the order of the list. Raise `TooSlow`.

    A search finds the same rows as the list. A cursor reads the ids of other queries, so that a million of them take 8 MB of memory.
    """
    with time_limit(time_limit_ms), search_transaction(query.account.id, query.q) as text:
        if query.q:
            return array("q", query.search_ids(text)[: limit + 1])
        rows = query.rows.order_by(*query.order_by()) if ordered else query.rows.order_by()
        return array("q", rows.values_list("id", flat=True)[: limit + 1].iterator(chunk_size=STEP))
