"""The stored values of a record in the header of its page."""

from typing import Any

from django.db.models import QuerySet

from accounts.models import Account, User
from workspace.summaries import revenue_of, with_revenue, with_summary


def annotate_summary(rows: QuerySet, resource: str, account: Account, user: User) -> QuerySet:
    """Annotate the rows with the values that the header shows. It adds no statement."""
    rows = with_summary(rows, "last_activity_at", "next_task_at")
    return with_revenue(rows, account, user) if resource == "client" else rows


def summary_of(row: Any) -> dict[str, Any]:
    """Return the values of an annotated row for the template `workspace/summary.html`."""
    revenue = revenue_of(getattr(row, "revenue", []), row.account)
    return {
        "open": [each for each in revenue if each.open_deals],
        "won": [each for each in revenue if each.won_deals],
        "last_activity_at": row.last_activity_at,
        "next_task_at": row.next_task_at,
    }
