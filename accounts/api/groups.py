"""Groups of users of the team in the Account API."""

from typing import Any, cast

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _

from accounts.models import Account, Group
from accounts.permissions import IsAdminOrTeamReadOnly
from core.api.fields import TextField
from core.api.filters import ListFilters
from core.api.lists import Listing
from core.api.requests import APIRequest
from core.api.resources import ResourceViewSet
from core.api.serializers import ResourceSerializer
from core.db.transactions import in_transaction
from core.db.trimmed import name_key


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

    key = "group"
    route = "accounts-json-group"
    model = Group
    serializer_class = GroupSerializer
    permission_classes = [IsAdminOrTeamReadOnly]
    filters = ListFilters
    default_order = ("name", "id")

    @staticmethod
    def list_rows_of(account: Account) -> QuerySet[Group]:
        return account.user_groups.all()

    def destroy(self, request: APIRequest, id: int) -> HttpResponse:
        in_transaction(lambda: self.find(id, locked=True).delete())
        return self.respond("ok")

    def create_row(self, values: dict[str, Any]) -> Group:
        row = Group(account=self.account)
        row.write(values)
        return row

    def update_row(self, row: Group, values: dict[str, Any]) -> None:
        row.write(values)
