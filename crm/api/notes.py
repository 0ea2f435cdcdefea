"""Notes in the Account API (JSON)."""

from rest_framework.exceptions import PermissionDenied

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

    def find(self, id: int, *, locked: bool = False) -> Note:
        """Return the note. Raise PermissionDenied if it is locked for a write, and the user may not change it."""
        note: Note = super().find(id, locked=locked)
        if locked and not note.may_be_changed_by(self.request.user):
            raise PermissionDenied("You do not have permission to perform this action.")
        return note
