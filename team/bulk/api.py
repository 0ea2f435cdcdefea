"""Bulk changes in the Account API (JSON)."""

from typing import Any
from zoneinfo import ZoneInfo

from django.http import HttpResponse, QueryDict
from django.urls import reverse
from rest_framework.response import Response

from accounts.hosts.api import APIRequest
from core.api.fields import (
    MAX_INTEGER,
    ChoiceField,
    DateTimeField,
    IntegerField,
    TagsField,
    TextField,
    WireField,
    to_id,
    to_list,
    to_object,
)
from core.api.lists import Paged
from core.api.serializers import ResourceSerializer, format_time
from core.db.time_limit import TooSlow
from core.db.transactions import in_transaction
from core.errors import FieldError, FieldErrors
from core.openapi.fields import describe_field
from core.openapi.operations import LIMITS, SHAPES, Shape
from core.openapi.values import ID, NAME, array_of, object_of, one_of, or_null, required_fields
from team.batches.models import MAX_LEFT_ALONE, BatchQuerySet, RowResult
from team.bulk.actions import ACTIONS, RESOURCES
from team.bulk.models import MAX_ROWS, BulkChange, check_action
from team.list_queries.declarations import LISTS
from team.list_queries.queries import ListQuery
from team.list_queries.selection import selected_ids
from team.menu.api import TeamViewSet

# The maximum number of rows that a request selects by their ids. A query selects more.
MAX_IDS = 1000
MAX_QUERY_LENGTH = 4000


class SelectedIdsField(WireField):
    """The ids of the rows. Ids that do not exist are reported when the change is carried out."""

    default_error_messages = {"list": "must be a list of ids", "too_many": "are too many (maximum is {most})"}

    def to_internal_value(self, data: object) -> list[int]:
        items = to_list(data)
        if not isinstance(items, list):
            self.fail("list")
        items = [item for item in items if not isinstance(item, str) or item.strip()]
        if len(items) > MAX_IDS:
            self.fail("too_many", most=MAX_IDS)
        ids = [id for item in items if (id := to_id(item)) is not None and 0 < id <= MAX_INTEGER]
        if len(ids) < len(items):
            self.fail("list")
        return ids


class FieldValuesField(WireField):
    """Values by the names of fields."""

    default_error_messages = {"object": "must be an object"}

    def to_internal_value(self, data: object) -> dict[str, object]:
        data = to_object(data)
        if not isinstance(data, dict):
            self.fail("object")
        return data


class LeftAloneField(WireField):
    """The rows that were left alone, in responses only."""


class BulkChangeSerializer(ResourceSerializer):
    resource = ChoiceField(RESOURCES, required=True)
    action = ChoiceField(ACTIONS, required=True)
    ids = SelectedIdsField(write_only=True)
    query = TextField(max_length=MAX_QUERY_LENGTH)
    responsible_id = IntegerField(min_value=1)
    status_id = IntegerField(min_value=1)
    tags = TagsField()
    contact_list_id = IntegerField(min_value=1)
    fields = FieldValuesField()  # type: ignore[assignment]  # the metaclass moves it to the declared fields
    state = TextField(read_only=True)
    failure = TextField(read_only=True)
    total = IntegerField(read_only=True)
    changed = IntegerField(read_only=True)
    unchanged = IntegerField(read_only=True)
    skipped = IntegerField(read_only=True)
    restored = IntegerField(read_only=True)
    kept = IntegerField(read_only=True)
    author_id = IntegerField(read_only=True)
    undone_by_id = IntegerField(read_only=True)
    finished_at = DateTimeField(read_only=True)
    undone_at = DateTimeField(read_only=True)
    left_alone = LeftAloneField(read_only=True)

    @classmethod
    def represent(cls, row: BulkChange, zone: ZoneInfo) -> dict[str, object]:
        values: dict[str, object] = {
            "responsible_id": None,
            "status_id": None,
            "tags": [],
            "contact_list_id": None,
            "fields": None,
        }
        if field := row.known_action.field:
            values[field] = row.value
        data: dict[str, Any] = {name: getattr(row, name, None) for name in cls.names} | values
        data |= {name: format_time(data[name], zone) for name in cls.times}
        return {**data, "query": row.query or None, "failure": row.failure or None}


class BulkChangeViewSet(TeamViewSet, Paged):
    """Bulk changes of clients, contacts and deals. Admins see all of them, agents their own."""

    areas = ("clients", "deals")
    serializer_class = BulkChangeSerializer

    def get_queryset(self) -> BatchQuerySet:
        rows: BatchQuerySet = self.account.bulk_changes.order_by("-id")
        return rows.visible_to(self.request.user)

    def represent(self, row: BulkChange) -> dict[str, object]:
        """Return the response for a change. A list leaves out the rows that were left alone."""
        left_alone = [] if self.action == "list" else row.left_alone(self.request.user)
        return super().represent(row) | {"left_alone": left_alone}

    def create(self, request: APIRequest) -> HttpResponse:
        serializer = BulkChangeSerializer(data=self.body.get("bulk_change"), context=self.get_serializer_context())
        self.check(bulk_change=serializer)
        values = serializer.values
        ids, query = values.get("ids"), values.get("query")
        if (ids is None) == (query is None):
            raise FieldError("ids", "must be given, or else a query, but not both", "required")
        check_action(values["resource"], values["action"])
        if query is not None:
            ids = self.ids_of(values["resource"], query)
        field = ACTIONS[values["action"]].field
        if field and field not in values:
            raise FieldError(field, "can't be blank", "required")

        chosen = {"resource": values["resource"], "action": values["action"]}
        rows: dict[str, Any] = {"ids": list(ids or ()), "query": query or ""}
        change = in_transaction(lambda: BulkChange.start(self.account, by=request.user, data=values, **chosen, **rows))
        location = self.base_url + reverse("team-json-bulk-change", args=[change.id])
        return Response(self.represent(change), status=201, headers={"Location": location})

    def ids_of(self, resource: str, text: str) -> list[int]:
        """Return the ids of the rows that match the parameters of a list. Raise FieldErrors."""
        parameters = QueryDict(text.removeprefix("?"))
        query = ListQuery.read(LISTS[resource], parameters, account=self.account, user=self.request.user)
        if query.errors:
            raise FieldErrors(error.move_into("query") for error in query.errors)
        try:
            ids = selected_ids(query, limit=MAX_ROWS)
        except TooSlow:
            raise FieldError("query", "takes too long, because too many rows would have to be compared") from None
        if not ids:
            raise FieldError("query", "matches no rows", "empty")
        if len(ids) > MAX_ROWS:
            raise FieldError("query", "matches too many rows (maximum is {most})", "too_many", {"most": MAX_ROWS})
        return list(ids)

    def retrieve(self, request: APIRequest, id: int) -> HttpResponse:
        return Response(self.represent(self.get_object()))

    def undo(self, request: APIRequest, id: int) -> HttpResponse:
        self.check()
        return self.act(lambda change: change.undo(by=request.user))

    def cancel(self, request: APIRequest, id: int) -> HttpResponse:
        self.check()
        return self.act(BulkChange.cancel)


# The OpenAPI document, as far as views and serializers do not tell it
LIMITS |= {"MAX_ROWS": MAX_ROWS, "MAX_LEFT_ALONE": MAX_LEFT_ALONE}

IDS = array_of({"type": "integer", "minimum": 1, "maximum": MAX_INTEGER}, minItems=1, maxItems=MAX_IDS)
LEFT_ALONE = object_of(
    resource=one_of(RESOURCES), id=ID, name=or_null(NAME), result=one_of(RowResult.LABELS), fields=array_of(NAME)
)
describe_field(SelectedIdsField, request=IDS)
describe_field(FieldValuesField, request={"type": "object"}, response={"type": "object"})
describe_field(LeftAloneField, response=array_of(LEFT_ALONE, maxItems=MAX_LEFT_ALONE))

# Exactly one of the two fields. A field that is null counts as missing.
NOT_NULL = required_fields(("ids", "query"), {"not": {"type": "null"}})
IDS_OR_QUERY = [
    {**alternative, "not": {"required": [other]}} for alternative, other in zip(NOT_NULL, ("query", "ids"), strict=True)
]
SHAPES[BulkChangeSerializer] = Shape(
    BulkChange,
    nullable=frozenset({"query", "failure", "responsible_id", "status_id", "contact_list_id", "fields"}),
    rules={"oneOf": IDS_OR_QUERY},
)
