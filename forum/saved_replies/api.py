"""Saved replies in the Account API (JSON)."""

from django.db.models import QuerySet

from accounts.hosts.api import ShortSettingsViewSet
from core.api.fields import TextField
from core.api.filters import ListFilters
from core.api.serializers import ResourceSerializer
from forum.saved_replies.models import SavedReply


class SavedReplySerializer(ResourceSerializer):
    model = SavedReply

    name = TextField(required=True)
    text = TextField(required=True)


class SavedReplyFilters(ListFilters):
    # The list is neither searched nor read by time.
    q = updated_since = None  # type: ignore[assignment]  # removes the filters of the base class


class SavedReplyViewSet(ShortSettingsViewSet):
    """The saved replies, which admins write, by name."""

    model = SavedReply
    serializer_class = SavedReplySerializer
    filterset_class = SavedReplyFilters

    def get_queryset(self) -> QuerySet[SavedReply]:
        rows: QuerySet[SavedReply] = self.account.saved_replies.order_by("name_key")
        return rows

    def perform_destroy(self, row: SavedReply) -> None:
        row.delete()
