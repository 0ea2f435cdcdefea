"""Notes in the Account API (JSON)."""

from typing import cast

from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.views import APIView

from accounts.hosts.api import APIRequest
from accounts.roles.permissions import IsTeam
from core.api.fields import ChoiceField, DateTimeField, IntegerField, RelatedField, TextField, WireField
from core.api.filters import ListFilters, WireFilter, link_filter
from core.api.serializers import ResourceSerializer
from core.openapi.fields import describe_field
from core.openapi.values import ID, array_of
from crm.notes.models import MAX_DURATION, Note, NoteQuerySet
from crm.resources.api.views import CRMViewSet


class IdListField(WireField):
    """A list of ids that only responses have."""


class NoteSerializer(ResourceSerializer):
    model = Note

    client_id = RelatedField("clients")
    contact_id = RelatedField("contacts")
    deal_id = RelatedField("deals")
    kind = ChoiceField(Note.Kind.values)
    content = TextField(required=True)
    noted_at = DateTimeField()
    duration = IntegerField(min_value=0, max_value=MAX_DURATION)
    outcome = ChoiceField(Note.Outcome.values)
    mentioned_user_ids = IdListField(read_only=True)
    creator_id = IntegerField(read_only=True)
    updater_id = IntegerField(read_only=True)


class NoteFilters(ListFilters):
    client_id = link_filter()
    contact_id = link_filter()
    deal_id = link_filter()
    kind = WireFilter(ChoiceField(Note.Kind.values))
    creator_id = link_filter()
    updater_id = link_filter()


class MayChangeNote(IsTeam):
    """Access for the team. A note may be changed as `Note.may_be_changed_by` says."""

    def has_object_permission(self, request: Request, view: APIView, obj: Note) -> bool:
        self.message = str(PermissionDenied.default_detail)
        return request.method in SAFE_METHODS or obj.may_be_changed_by(cast(APIRequest, request).user)


class NoteViewSet(CRMViewSet):
    model = Note
    serializer_class = NoteSerializer
    filterset_class = NoteFilters
    ordering_fields = ("id", "created_at", "updated_at")
    permission_classes = [MayChangeNote]

    def get_queryset(self) -> NoteQuerySet:
        rows: NoteQuerySet = self.account.notes.live().limited_to(self.access)
        return rows


# The OpenAPI document

describe_field(IdListField, response=array_of(ID))
