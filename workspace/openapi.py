"""The team's pages in the OpenAPI document: the deal board."""

from typing import Any

from core.openapi.operations import JSONSchema, Operation, register_operation
from crm.openapi import DEAL
from workspace.api.board import MoveSerializer

ID = {"type": "integer", "minimum": 1}
NAME = {"type": "string"}
NUMBER = {"type": "number"}
COUNT = {"type": "integer", "minimum": 0}


def of_object(**properties: JSONSchema) -> JSONSchema:
    """Return the schema of an object that has all of the properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def or_null(schema: JSONSchema) -> JSONSchema:
    return {**schema, "type": [schema["type"], "null"]}


TOTAL = of_object(currency=NAME, count=COUNT, sum=NUMBER, weighted_sum=NUMBER)
CARD = of_object(
    id=ID,
    name=NAME,
    client_id=or_null(ID),
    client_name=or_null(NAME),
    price=or_null(NUMBER),
    currency=NAME,
    responsible_id=or_null(ID),
    expected_close_date=or_null({"type": "string", "format": "date"}),
    stage_entered_at=or_null({"type": "string", "format": "date-time"}),
    overdue={"type": "boolean"},
    rotting={"type": "boolean"},
)
COLUMN = of_object(
    status_id=ID,
    count=or_null(COUNT),
    totals=or_null({"type": "array", "items": TOTAL}),
    deals={"type": "array", "items": CARD},
    next=or_null(NAME),
)
BOARD: dict[str, Any] = {
    "pipeline_id": 1,
    "columns": [
        {
            "status_id": 12,
            "count": 1,
            "totals": [{"currency": "EUR", "count": 1, "sum": 149.9, "weighted_sum": 89.94}],
            "deals": [
                {
                    "id": 29,
                    "name": "Order 1043",
                    "client_id": 26,
                    "client_name": "Ann Kowalska",
                    "price": 149.9,
                    "currency": "EUR",
                    "responsible_id": 15,
                    "expected_close_date": "2026-12-31",
                    "stage_entered_at": "2026-11-21T12:00:00+01:00",
                    "overdue": False,
                    "rotting": False,
                }
            ],
            "next": None,
        }
    ],
}


def parameters() -> dict[str, JSONSchema]:
    id = {"type": "integer", "minimum": 1, "maximum": 10**18 - 1}
    return {
        "pipeline_id": {**id, "description": "The default is the first pipeline."},
        "mine": {"type": "boolean", "description": "Only deals that the user is responsible for."},
        "q": {"type": "string", "maxLength": 255, "description": "A search."},
        "column": {**id, "description": "The id of a status: only this column."},
        "after": {
            "type": "string",
            "pattern": "^-?[0-9]{1,18}_[0-9]{1,18}$",
            "description": "The `next` of the column: the deals after those.",
        },
    }


register_operation(
    "GET /app/deals/board.json",
    Operation(
        "read_board",
        "Read the deal board",
        "The statuses of a pipeline, each with its number of deals, their sums, and its first 50 deals in the order of the board. "
        "weighted_sum is the sum times the probability of the status. The conditions of the list of deals on the pages, such as "
        "`price__after=1000`, select deals. If they select more than 5,000, count and totals are null. A deal is rotting if it is in its "
        "status for `rot_days` and no task is planned.",
        "Deals",
        response_example=BOARD,
        parameters={"pipeline_id": 1},
        query_parameters=parameters,
        response=of_object(pipeline_id=ID, columns={"type": "array", "items": COLUMN}),
    ),
)
register_operation(
    "POST /app/deals/{id}/move.json",
    Operation(
        "move_deal",
        "Move a deal on the board",
        "Moves the deal to a status, below the deal `after_id` (0 for the first place) or to the place `position`, counted from 1. Without "
        "them, the deal comes first in another status, and keeps its place in its own. `reason` becomes the reason for winning or losing "
        "the deal. If the deal is no longer in `seen_status_id`, or `after_id` no longer in the status, the answer is 409, and the deal "
        "stays where it is.",
        "Deals",
        {"move": {"status_id": 12, "after_id": 0}},
        DEAL | {"status_id": 12, "stage_entered_at": "2026-11-21T12:00:00+01:00"},
        {"id": 29},
        body_serializers={"move": MoveSerializer},
    ),
)
