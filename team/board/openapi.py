"""The schemas of the deal board in the OpenAPI document, as far as views and serializers do not tell them."""

from core.openapi.fields import FILLED_ID
from core.openapi.operations import BODIES, QUERY_PARAMETERS, RESPONSES, SHAPES, Shape
from core.openapi.values import (
    BOOLEAN,
    COUNT,
    DATE,
    ID_OR_ZERO,
    ID_PARAMETER,
    NAME,
    NUMBER,
    ROW_ID,
    TIME,
    array_of,
    object_of,
    or_null,
)
from core.search.queries import MAX_QUERY_LENGTH
from team.board.api import MoveSerializer

TOTAL = object_of(currency=NAME, count=COUNT, sum=NUMBER, weighted_sum=NUMBER)
CARD = object_of(
    id=ROW_ID,
    name=NAME,
    client_id=or_null(ROW_ID),
    client_name=or_null(NAME),
    price=or_null(NUMBER),
    currency=NAME,
    responsible_id=or_null(ROW_ID),
    expected_close_date=or_null(DATE),
    stage_entered_at=or_null(TIME),
    overdue=BOOLEAN,
    rotting=BOOLEAN,
)
COLUMN = object_of(
    status_id=or_null(ROW_ID),
    count=or_null(COUNT),
    totals=or_null(array_of(TOTAL)),
    deals=array_of(CARD),
    next=or_null(NAME),
)
QUERY_PARAMETERS["read_board"] = {
    "pipeline_id": {**ID_PARAMETER, "description": "The default is the first pipeline."},
    "mine": {"type": "boolean", "description": "Only deals that the user is responsible for."},
    "q": {"type": "string", "maxLength": MAX_QUERY_LENGTH, "description": "A search."},
    "column": {**ID_OR_ZERO, "description": "The id of a status, or 0 for none: only this column."},
    "after": {
        "type": "string",
        "pattern": "^-?[0-9]{1,18}_[0-9]{1,18}$",
        "description": "The `next` of the column: the deals after those.",
    },
}
RESPONSES["read_board"] = object_of(pipeline_id=ROW_ID, columns=array_of(COLUMN))

# At most one of the two names of a place. A field that is null or blank counts as missing.
PLACES = {"after_id": FILLED_ID, "position": FILLED_ID}
SHAPES[MoveSerializer] = Shape(rules={"not": {"required": list(PLACES), "properties": PLACES}})
BODIES["move_deal"] = {"move": MoveSerializer}
