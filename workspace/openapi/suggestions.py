"""Suggestions in the order of revenue or clients in the OpenAPI document."""

from core.openapi.operations import register_operation
from core.openapi.values import COUNT, NAME, object_of
from workspace.api.suggestions import ORDERS
from workspace.openapi.backers import REVENUE, REVENUE_EXAMPLE

ID = {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}
register_operation(
    "GET /app/posts/revenue.json",
    "list_posts_by_revenue",
    "List suggestions by revenue",
    "The suggestions that have clients behind them, those with the highest sum of open and won deals in the currency of the account, or "
    "with the most clients, first. `segment` is the id of a saved view of clients: at least one of them is behind each suggestion. The "
    "figures are stored and follow changes within about a minute. Agents who see only some of the clients cannot read this list.",
    "Posts",
    response_example=[
        {
            "id": 30,
            "forum_id": 2,
            "title": "Dark mode",
            "status": "planned",
            "votes": 12,
            "clients": 1,
            "revenue": [REVENUE_EXAMPLE],
        }
    ],
    query_parameters=lambda: {
        "order": {"type": "string", "enum": list(ORDERS), "default": next(iter(ORDERS))},
        "forum_id": ID,
        "segment": ID | {"description": "The id of a saved view of clients."},
        "min_revenue": {
            "type": "number",
            "exclusiveMaximum": 10**14,
            "exclusiveMinimum": -(10**14),
            "description": "The smallest sum of open and won deals in the currency of the account.",
        },
        "min_clients": {"type": "integer", "minimum": 0, "maximum": 10**9 - 1},
    },
    response={
        "type": "array",
        "items": object_of(
            id={"type": "integer"},
            forum_id={"type": "integer"},
            title={"type": "string"},
            status=NAME,
            votes=COUNT,
            clients=COUNT,
            revenue={"type": "array", "items": REVENUE},
        ),
    },
)
