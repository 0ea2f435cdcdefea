"""The operations of the room `workspace` in the OpenAPI document."""

from core.openapi.operations import JSONSchema, Operation, register_operation
from core.openapi.schema import PAGE_PARAMETERS

REVENUE: JSONSchema = {
    "type": "object",
    "properties": {
        "currency": {"type": "string"},
        "open_deals": {"type": "integer", "minimum": 0},
        "open_sum": {"type": "number"},
        "won_deals": {"type": "integer", "minimum": 0},
        "won_sum": {"type": "number"},
    },
    "required": ["currency", "open_deals", "open_sum", "won_deals", "won_sum"],
    "additionalProperties": False,
}
REVENUE_EXAMPLE = {"currency": "EUR", "open_deals": 2, "open_sum": 4800, "won_deals": 1, "won_sum": 12000.5}
register_operation(
    "GET /app/posts/{id}/clients.json",
    Operation(
        "list_clients_of_post",
        "List the clients behind a suggestion",
        "The clients with a vote on their behalf, with a suggestion that was written for them, or with a linked user who voted for it or "
        "wrote it. Those with the highest revenue in the currency of the account come first.",
        "Posts",
        response_example=[{"client_id": 26, "name": "Northwind", "revenue": [REVENUE_EXAMPLE]}],
        parameters={"id": 30},
        query_parameters=lambda: PAGE_PARAMETERS,
        response={
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "client_id": {"type": "integer"},
                    "name": {"type": "string"},
                    "revenue": {"type": "array", "items": REVENUE},
                },
                "required": ["client_id", "name", "revenue"],
                "additionalProperties": False,
            },
        },
    ),
)
register_operation(
    "GET /app/posts/{id}/revenue.json",
    Operation(
        "get_revenue_of_post",
        "Read the revenue behind a suggestion",
        "The number of the clients behind a suggestion, and the sums of their open and won deals in each currency.",
        "Posts",
        response_example={"clients": 1, "revenue": [REVENUE_EXAMPLE]},
        parameters={"id": 30},
        response={
            "type": "object",
            "properties": {
                "clients": {"type": "integer", "minimum": 0},
                "revenue": {"type": "array", "items": REVENUE},
            },
            "required": ["clients", "revenue"],
            "additionalProperties": False,
        },
    ),
)
