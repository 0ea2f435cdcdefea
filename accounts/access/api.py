"""Groups of users of the team in the Account API."""

from django.db.models import QuerySet

from accounts.access.models import Group
from accounts.hosts.api import SettingsViewSet
from core.api.serializers import ResourceSerializer, UniqueNameField


class GroupSerializer(ResourceSerializer):
    model = Group

    name = UniqueNameField(lambda account: account.user_groups.all(), required=True)


class GroupViewSet(SettingsViewSet):
    """CRUD of groups. The group of a user is a field of the user."""

    model = Group
    serializer_class = GroupSerializer
    ordering = ("name", "id")

    def get_queryset(self) -> QuerySet[Group]:
        return self.account.user_groups.all()

    def perform_destroy(self, row: Group) -> None:
        row.delete()
