"""Notes in the Account API (JSON)."""

from typing import Any

from accounts.models import Account
from core.api.fields import ChoiceField, DateTimeField, IntegerField, RelatedField, TextField, WireField
from core.api.filters import ListFilters, WireFilter, link_filter
from core.api.serializers import ResourceSerializer
from crm.api.views import CRMViewSet
from crm.notes import MAX_DURATION, Note, NoteQuerySet


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
    mentioned_user_ids = IdListField(read_only=True)
    creator_id = IntegerField(read_only=True)
    updater_id = IntegerField(read_only=True)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """Leave out a null kind or time, because a note always has them."""
        return {name: value for name, value in values.items() if value is not None or name not in ("kind", "noted_at")}


class NoteFilters(ListFilters):
    client_id = link_filter()
    contact_id = link_filter()
    deal_id = link_filter()
    kind = WireFilter(ChoiceField(Note.Kind.values))
    creator_id = link_filter()
    updater_id = link_filter()


class NoteViewSet(CRMViewSet):
    key = "note"
    route = "crm-json-note"
    model = Note
    serializer_class = NoteSerializer
    filters = NoteFilters
    orders = ("id", "created_at", "updated_at")

    @staticmethod
    def list_rows_of(account: Account) -> NoteQuerySet:
        return account.notes.live()
