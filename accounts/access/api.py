"""Groups of users of the team in the Account API."""

from typing import Any, cast

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.access.models import Group
from accounts.account.models import Account
from accounts.hosts.api_requests import APIRequest
from accounts.roles.permissions import IsAdminOrTeamReadOnly
from core.api.fields import TextField
from core.api.lists import Listing
from core.api.resources import ResourceViewSet
from core.api.serializers import ResourceSerializer
from core.rows.trimmed import name_key


class GroupName(TextField):
    default_error_messages = {"taken": _("is already taken")}

    def to_internal_value(self, data: Any) -> str:
        name = cast(str, super().to_internal_value(data))
        row = self.parent.instance
        if (
            self.context["account"]
            .user_groups.filter(name_key=name_key(name))
            .exclude(id=row.id if row else None)
            .exists()
        ):
            self.fail("taken")
        return name


class GroupSerializer(ResourceSerializer):
    model = Group

    name = GroupName(required=True)


class GroupViewSet(Listing, ResourceViewSet):
    """CRUD of groups. The group of a user is a field of the user."""

    account: Account
    request: APIRequest

    model = Group
    serializer_class = GroupSerializer
    permission_classes = [IsAdminOrTeamReadOnly]
    ordering = ("name", "id")

    def get_queryset(self) -> QuerySet[Group]:
        return self.account.user_groups.all()

    def perform_update(self, serializer: ResourceSerializer) -> None:
        serializer.instance.write(serializer.values)

    def perform_destroy(self, row: Group) -> None:
        row.delete()
