"""The stored values of a record in the header of its page."""

from typing import Any

from workspace.summaries import revenue_of


def summary_of(row: Any) -> dict[str, Any]:
    """Return the values of a row of `with_stored_values` for the template `workspace/summary.html`."""
    revenue = revenue_of(getattr(row, "revenue", []), row.account)
    return {
        "open": [each for each in revenue if each.open_deals],
        "won": [each for each in revenue if each.won_deals],
        "last_activity_at": row.last_activity_at,
        "next_task_at": row.next_task_at,
        # Of a deal.
        "price": getattr(row, "price", None),
        "expected_close_date": getattr(row, "expected_close_date", None),
    }
