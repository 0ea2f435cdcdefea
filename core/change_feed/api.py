"""`GET /app/changes.json`, the feed of the changes of an account, for clients that keep a copy of its data."""

from collections.abc import Iterable, Sequence
from typing import cast

from django.http import HttpResponse
from rest_framework.response import Response

from core.api.fields import BooleanField, IntegerField, ScalarField
from core.api.serializers import WireSerializer, declared_fields, format_time
from core.api.views import JSONViewSet
from core.changes import events
from core.changes.models import CHANGE_RETENTION, Change, ChangeQuerySet, Cursor, ExpiredError
from core.db.tenancy import rows_of
from core.errors import FieldError, FieldErrors
from core.http.requests import RequestOfAPI
from core.openapi.fields import describe_field
from core.openapi.operations import QUERY_PARAMETERS, RESPONSES
from core.openapi.schema import field_parameters
from core.openapi.values import BOOLEAN, ID, NAME, TIME, array_of, object_of, or_null
from core.registry import registry
from core.rows.trash import LimitedQuerySet

NOW = "now"
EXPIRED_MESSAGE = f"is older than the {CHANGE_RETENTION.days} days that changes are kept for: read everything again, from since=now on"


class SinceField(ScalarField):
    """A cursor from an earlier response for this account, or `now`."""

    default_error_messages = {"cursor": "is not a cursor of this account"}

    def to_internal_value(self, data: object) -> Cursor | str:
        since = NOW if data == NOW else Cursor.parse(self.context["account"].id, str(data))
        if since is None:
            self.fail("cursor")
        return since


class FeedSerializer(WireSerializer):
    since = SinceField()
    limit = IntegerField(min_value=1, max_value=1000)
    events = BooleanField()


class ChangeViewSet(JSONViewSet):
    DEFAULT_LIMIT = 100

    def list(self, request: RequestOfAPI) -> HttpResponse:
        parameter_errors = self.ignore_parameters(("since", "limit", "events"))
        serializer = FeedSerializer(data=self.parameters.dict(), context={"account": self.account})
        errors = {error.field: error for error in serializer.find_errors()} | parameter_errors
        if errors:
            raise FieldErrors(errors.values())
        since, limit = (serializer.values.get(name) for name in ("since", "limit"))
        limit, with_events = limit or self.DEFAULT_LIMIT, bool(serializer.values.get("events"))
        changes = cast(ChangeQuerySet, rows_of(self.account, Change))
        rows: Iterable[Change]
        if since is None:
            since = Cursor(self.account.id)
            changes.assign_numbers(self.account.id)
            numbered = (changes if with_events else changes.without_events()).filter(number__isnull=False)
            rows = numbered.order_by("number")[: limit + 1]
        elif since == NOW:
            since, rows = changes.end_cursor(self.account.id), []
        else:
            try:
                rows = changes.after(since, limit=limit + 1, events=with_events)
            except ExpiredError:
                raise FieldError("since", EXPIRED_MESSAGE, "expired") from None
        rows = list(rows)
        page = rows[:limit]
        hidden, zone = self.find_hidden(page), self.account.zone
        return Response(
            {
                "changes": [
                    {
                        "resource": row.resource,
                        "id": row.id,
                        "change": row.change,
                        "at": format_time(row.at, zone),
                        "import_id": row.import_id,
                    }
                    | ({"actor_id": row.actor_id, "data": row.data} if with_events else {})
                    for row in page
                    if self.place_of(row) not in hidden
                ],
                "cursor": str(page[-1].cursor if page else since),
                "more": len(rows) > limit,
            }
        )

    @staticmethod
    def place_of(change: Change) -> tuple[str, int]:
        """Return the key and the id of the row that a user must be able to access to see a change."""
        return events.place_of(change.resource, change.id, change.data)

    def find_hidden(self, changes: Sequence[Change]) -> set[tuple[str, int]]:
        """Return the resources of the changes, by key and id, that the user may not access. These include all erased ones."""
        hidden: set[tuple[str, int]] = set()
        if not self.access.is_limited:
            return hidden
        places = {self.place_of(change) for change in changes}
        for key in {key for key, _id in places}:
            resource = registry.get(key)
            rows = None if resource is None else resource.rows_of(self.account)
            if isinstance(rows, LimitedQuerySet):
                ids = {id for place, id in places if place == key}
                found = rows.limited_to(self.access).filter(id__in=ids).values_list("id", flat=True)
                hidden |= {(key, id) for id in ids.difference(found)}
        return hidden


# The OpenAPI document

describe_field(SinceField, request={"type": "string", "description": "The cursor of the previous response, or `now`."})

QUERY_PARAMETERS["list_changes"] = field_parameters(declared_fields(FeedSerializer))
CHANGE = object_of(resource=NAME, id=ID, change=NAME, at=TIME, import_id=or_null(ID))
# These are only in responses with events.
CHANGE["properties"] |= {"actor_id": or_null(ID), "data": {"type": ["object", "null"]}}
RESPONSES["list_changes"] = object_of(changes=array_of(CHANGE), cursor=NAME, more=BOOLEAN)
