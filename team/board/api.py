"""The deal board in the Account API (JSON)."""

from dataclasses import asdict

from django.http import Http404, HttpResponse, QueryDict
from rest_framework.response import Response

from accounts.hosts.api import APIRequest
from accounts.statuses.models import Status
from core.api.fields import IntegerField, TextField
from core.api.serializers import ResourceSerializer, format_time
from core.db.time_limit import TooSlow
from core.db.transactions import in_transaction
from core.errors import FieldError, FieldErrors
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
from crm.deals.api import DealSerializer
from crm.deals.models import Deal
from team.board.columns import BoardColumn, BoardQuery, Card, read_board
from team.board.moves import MAX_PLACE, Move, move_deal
from team.list_queries.declarations import LISTS
from team.menu.api import TeamViewSet

MAX_ID = 10**18 - 1
TOO_SLOW = "has filters that no index serves, and too many deals to compare"
CARD_COLUMNS = ("id", "name", "client_id", "client_name", "price", "currency", "responsible_id", "expected_close_date")


class MoveSerializer(ResourceSerializer):
    """The body of a move."""

    model = Deal
    is_derived = False

    # 0 stands for no status.
    status_id = IntegerField(min_value=Status.NONE_ID, max_value=MAX_ID)
    after_id = IntegerField(min_value=0, max_value=MAX_ID)
    position = IntegerField(min_value=1, max_value=MAX_PLACE)
    reason = TextField()
    seen_status_id = IntegerField(min_value=Status.NONE_ID, max_value=MAX_ID)

    def validate(self, values: dict[str, object]) -> dict[str, object]:
        """Return the values without nulls, except that a null reason removes the reason."""
        if values.get("after_id") is not None and values.get("position") is not None:
            raise FieldError("position", "can't be given together with after_id")
        reason = {"reason": values.pop("reason") or ""} if "reason" in values else {}
        return {name: value for name, value in values.items() if value is not None} | reason


class BoardViewSet(TeamViewSet):
    """The board, and the moves of deals on it."""

    areas = ("deals",)
    serializer_class = DealSerializer

    def board(self, request: APIRequest) -> HttpResponse:
        """Return the columns of a pipeline with their totals and their first deals, or one column from a deal on."""
        query = self.read_query()
        try:
            board = read_board(query)
        except TooSlow:
            raise FieldError("request", TOO_SLOW, "too_slow") from None
        if query.errors:
            raise FieldErrors(query.errors)
        columns = [self.represent_column(column) for column in board.columns]
        return Response({"pipeline_id": board.pipeline.id, "columns": columns})

    def read_query(self) -> BoardQuery:
        """Return the query of the parameters. Unknown parameters are ignored, unless the request is strict."""
        parameters = QueryDict(mutable=True)
        for name, values in self.parameters.lists():
            if name not in self.common_keys:
                parameters.setlist(name, [str(value) for value in values])
        query = BoardQuery.read(LISTS["deal"], parameters, account=self.account, user=self.request.user)
        self.check_scopes(query.related_areas)
        if len(parameters.get("q", "").strip()) > MAX_QUERY_LENGTH:
            # The pages cut the text instead.
            message = "is too long (maximum is {maximum} characters)"
            query.errors.append(FieldError("q", message, "too_long", {"maximum": MAX_QUERY_LENGTH}))
        self.ignored_parameters += [error.field for error in query.errors if error.code == "unknown"]
        if not self.strict:
            query.errors = [error for error in query.errors if error.code != "unknown"]
        if query.errors:
            raise FieldErrors(query.errors)
        return query

    def move(self, request: APIRequest, id: int) -> HttpResponse:
        """Move a deal to another status or place, and return the deal."""
        serializer = MoveSerializer(data=self.body.get("move"), context=self.get_serializer_context())
        self.check(move=serializer)
        values = serializer.values
        move = Move(id, place=values.pop("position", None), **values)
        try:
            deal = in_transaction(lambda: move_deal(self.account, request.user, move))
        except Deal.DoesNotExist:
            raise Http404 from None
        return Response(self.represent(deal))

    def represent_column(self, column: BoardColumn) -> dict[str, object]:
        return {
            "status_id": column.status.id or None,
            "count": column.count,
            "totals": None if column.totals is None else list(map(asdict, column.totals)),
            "deals": [self.represent_card(card) for card in column.cards],
            "next": column.next or None,
        }

    def represent_card(self, card: Card) -> dict[str, object]:
        return {
            **{name: getattr(card, name) for name in CARD_COLUMNS},
            "stage_entered_at": format_time(card.stage_entered_at, self.account.zone),
            "overdue": card.is_overdue,
            "rotting": card.is_rotting,
        }


# The OpenAPI document, as far as views and serializers do not tell it
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
NUMBERS = {"count": or_null(COUNT), "totals": or_null(array_of(TOTAL))}
COLUMN = object_of({"status_id": or_null(ROW_ID), **NUMBERS, "deals": array_of(CARD), "next": or_null(NAME)})
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
