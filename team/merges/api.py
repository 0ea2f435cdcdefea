"""Merges of clients and of contacts in the Account API."""

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from rest_framework.response import Response

from accounts.hosts.api import APIRequest
from core.api.fields import DateTimeField, IntegerField, WireField, to_object
from core.api.filters import ListFilters, link_filter
from core.api.lists import Listing
from core.api.serializers import ResourceSerializer
from core.db.transactions import in_transaction
from core.errors import FieldError, FieldErrors
from core.openapi.fields import describe_field
from core.openapi.operations import BODIES
from core.openapi.values import NAME, array_of, object_of, one_of
from team.menu.api import TeamViewSet
from team.merges.comparison import Choice
from team.merges.models import Merge, MergeQuerySet


class MergeChoicesField(WireField):
    """An object of the names of fields and the row whose value the field gets: `kept`, `merged` or `both`."""

    default_error_messages = {
        "object": "must be an object of field to kept, merged or both",
        "choice": _("is not one of {choices}"),
    }

    def to_internal_value(self, data: object) -> dict[str, Choice]:
        data = to_object(data)
        if not isinstance(data, dict):
            self.fail("object")
        message, values = self.error_messages["choice"], {"choices": ", ".join(Choice)}
        if wrong := [name for name, choice in data.items() if choice not in [*Choice]]:
            raise FieldErrors(FieldError(name, message, "choice", values) for name in wrong)
        return {name: Choice(choice) for name, choice in data.items()}


class ChangesField(WireField):
    """The changes of a merge, in responses: by the name of the field, the values before and after."""


class PairsField(WireField):
    """A list of external ids, in responses: pairs of key and value."""


class FieldNamesField(WireField):
    """A list of names of fields, in responses."""


class MergeSerializer(ResourceSerializer):
    model = Merge

    client_id = IntegerField(read_only=True)
    merged_client_id = IntegerField(read_only=True)
    contact_id = IntegerField(read_only=True)
    merged_contact_id = IntegerField(read_only=True)
    user_id = IntegerField(read_only=True)
    changes = ChangesField(read_only=True)
    external_ids = PairsField(read_only=True)
    undone_at = DateTimeField(read_only=True)
    undone_by_id = IntegerField(read_only=True)
    unrestored_fields = FieldNamesField(read_only=True)


class NewClientMergeSerializer(ResourceSerializer):
    """The body of a merge into the client of the path."""

    merged_client_id = IntegerField(required=True, min_value=1)
    fields = MergeChoicesField()  # type: ignore[assignment]  # DRF's property has the name too, but keeps its fields elsewhere


class NewContactMergeSerializer(ResourceSerializer):
    """The body of a merge into the contact of the path."""

    merged_contact_id = IntegerField(required=True, min_value=1)
    fields = MergeChoicesField()  # type: ignore[assignment]  # DRF's property has the name too, but keeps its fields elsewhere


MERGE_BODIES = {"client": NewClientMergeSerializer, "contact": NewContactMergeSerializer}


class MergeFilters(ListFilters):
    # Merges have no text to search.
    q = None  # type: ignore[assignment]  # removes the filter of the base class
    client_id = link_filter()
    merged_client_id = link_filter()
    contact_id = link_filter()
    merged_contact_id = link_filter()
    user_id = link_filter()


class MergeViewSet(TeamViewSet, Listing):
    """Merges of rows that the user may access. A merge is erased with the merged row."""

    areas = ("clients",)
    serializer_class = MergeSerializer
    filterset_class = MergeFilters
    ordering_fields = ("id", "created_at", "updated_at")
    # The resource of the path of `merge`: `client` or `contact`.
    kind = ""

    def get_queryset(self) -> MergeQuerySet:
        rows: MergeQuerySet = self.account.merges.limited_to(self.access)
        return rows

    def retrieve(self, request: APIRequest, id: int) -> HttpResponse:
        return Response(self.represent(self.get_object()))

    def merge(self, request: APIRequest, id: int) -> HttpResponse:
        def act() -> Merge:
            serializer = MERGE_BODIES[self.kind](data=self.body.get("merge"), context=self.get_serializer_context())
            self.check(merge=serializer)
            merged_id, choices = serializer.values[f"merged_{self.kind}_id"], serializer.values.get("fields") or {}
            return Merge.objects.all().merge(self.account, self.kind, id, merged_id, choices, by=request.user)

        try:
            row = in_transaction(act)
        except FieldErrors as caught:
            if any(error.field == f"{self.kind}_id" and error.code in ("missing", "gone") for error in caught.errors):
                raise Http404 from None
            raise
        headers = {"Location": self.base_url + reverse("team-json-merge", args=[row.id])}
        return Response(self.represent(row), status=201, headers=headers)

    def undo(self, request: APIRequest, id: int) -> HttpResponse:
        def act() -> Merge:
            self.check()
            row: Merge = self.get_object()
            row.undo(by=request.user)
            return row

        return Response(self.represent(in_transaction(act)))


# The OpenAPI document, as far as views and serializers do not tell it
CHANGES = {"type": "object", "additionalProperties": object_of(before={}, after={})}
describe_field(MergeChoicesField, request={"type": "object", "additionalProperties": one_of(Choice)})
describe_field(ChangesField, response=CHANGES)
describe_field(PairsField, response=array_of(array_of(NAME, minItems=2, maxItems=2)))
describe_field(FieldNamesField, response=array_of(NAME))
for key, serializer in MERGE_BODIES.items():
    BODIES[f"merge_{key}s"] = {"merge": serializer}
