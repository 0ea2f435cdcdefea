"""The deal board in the OpenAPI document."""

from typing import Any

from core.openapi.fields import NOT_BLANK
from core.openapi.operations import SHAPES, JSONSchema, Shape, register_operation
from core.openapi.values import COUNT, NAME, NUMBER, ROW_ID, object_of, or_null
from core.search.queries import MAX_QUERY_LENGTH
from crm.openapi import DEAL
from workspace.api.board import MoveSerializer

TOTAL = object_of(currency=NAME, count=COUNT, sum=NUMBER, weighted_sum=NUMBER)
CARD = object_of(
    id=ROW_ID,
    name=NAME,
    client_id=or_null(ROW_ID),
    client_name=or_null(NAME),
    price=or_null(NUMBER),
    currency=NAME,
    responsible_id=or_null(ROW_ID),
    expected_close_date=or_null({"type": "string", "format": "date"}),
    stage_entered_at=or_null({"type": "string", "format": "date-time"}),
    overdue={"type": "boolean"},
    rotting={"type": "boolean"},
)
COLUMN = object_of(
    status_id=or_null(ROW_ID),
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


def board_parameters() -> dict[str, JSONSchema]:
    id = {"type": "integer", "minimum": 1, "maximum": 10**18 - 1}
    return {
        "pipeline_id": {**id, "description": "The default is the first pipeline."},
        "mine": {"type": "boolean", "description": "Only deals that the user is responsible for."},
        "q": {"type": "string", "maxLength": MAX_QUERY_LENGTH, "description": "A search."},
        "column": {**id, "minimum": 0, "description": "The id of a status, or 0 for none: only this column."},
        "after": {
            "type": "string",
            "pattern": "^-?[0-9]{1,18}_[0-9]{1,18}$",
            "description": "The `next` of the column: the deals after those.",
        },
    }


def one_place(schema: JSONSchema, partial: bool) -> JSONSchema:
    """Allow at most one of the two names of a place. A field that is null or blank counts as missing."""
    names = ("after_id", "position")
    given = {"type": ["integer", "string"], **NOT_BLANK}
    return {**schema, "not": {"required": list(names), "properties": dict.fromkeys(names, given)}}


SHAPES[MoveSerializer] = Shape(refine_input=one_place)

register_operation(
    "GET /app/deals/board.json",
    "read_board",
    "Read the deal board",
    "The statuses of a pipeline, each with its number of deals, their sums, and its first 50 deals in the order of the board. "
    "weighted_sum is the sum times the probability of the status. The conditions of the list of deals on the pages, such as "
    "`price__after=1000`, select deals. If they select more than 5,000, count and totals are null. A deal is rotting if it is in its "
    "status for `rot_days` and no task is planned. The board of the first pipeline begins with the deals without a status "
    "(`status_id` null), if there are any.",
    "Deals",
    response_example=BOARD,
    parameters={"pipeline_id": 1},
    query_parameters=board_parameters,
    response=object_of(pipeline_id=ROW_ID, columns={"type": "array", "items": COLUMN}),
)
register_operation(
    "POST /app/deals/{id}/move.json",
    "move_deal",
    "Move a deal on the board",
    "Moves the deal to a status (0 for none), below the deal `after_id` (0 for the first place) or to the place `position`, counted from 1. Without "
    "them, the deal comes first in another status, and keeps its place in its own. `reason` becomes the reason for winning or losing "
    "the deal. If the deal is no longer in `seen_status_id`, or `after_id` no longer in the status, the answer is 409, and the deal "
    "stays where it is.",
    "Deals",
    {"move": {"position": 1}},
    DEAL | {"status_id": 12, "stage_entered_at": "2026-11-21T12:00:00+01:00"},
    {"id": 29},
    body_serializers={"move": MoveSerializer},
)
