"""The clients behind a suggestion in the OpenAPI document."""

from core.openapi.operations import register_operation
from core.openapi.values import COUNT, NAME, NUMBER, object_of

REVENUE = object_of(currency=NAME, open_deals=COUNT, open_sum=NUMBER, won_deals=COUNT, won_sum=NUMBER)
REVENUE_EXAMPLE = {"currency": "EUR", "open_deals": 2, "open_sum": 4800, "won_deals": 1, "won_sum": 12000.5}
register_operation(
    "GET /app/posts/{id}/clients.json",
    "list_clients_of_post",
    "List the clients behind a suggestion",
    "The clients with a vote on their behalf, with a suggestion that was written for them, or with a linked user who voted for it or "
    "wrote it. Those with the highest revenue in the currency of the account come first.",
    "Posts",
    response_example=[{"client_id": 26, "name": "Northwind", "revenue": [REVENUE_EXAMPLE]}],
    parameters={"id": 30},
    response={
        "type": "array",
        "items": object_of(client_id={"type": "integer"}, name=NAME, revenue={"type": "array", "items": REVENUE}),
    },
)
register_operation(
    "GET /app/posts/{id}/revenue.json",
    "get_revenue_of_post",
    "Read the revenue behind a suggestion",
    "The number of the clients behind a suggestion, and the sums of their open and won deals in each currency.",
    "Posts",
    response_example={"clients": 1, "revenue": [REVENUE_EXAMPLE]},
    parameters={"id": 30},
    response=object_of(clients=COUNT, revenue={"type": "array", "items": REVENUE}),
)
