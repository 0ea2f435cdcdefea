"""The bases of the requests and views of the APIs, with the models of this room."""

from typing import TYPE_CHECKING

from accounts.hosts.requests import AccountRequest
from accounts.roles.permissions import IsAdminOrTeamReadOnly
from core.api.lists import Listing, Paged
from core.api.resources import ResourceViewSet
from core.api.serializers import ResourceSerializer
from core.api.views import TenantViewSet
from core.http.requests import RequestOfAPI

if TYPE_CHECKING:
    from accounts.account.models import Account
    from accounts.tokens.models import APIToken
    from accounts.users.models import User


class APIRequest(RequestOfAPI):
    """DRF's request after authentication. The type is only used in annotations."""

    _request: AccountRequest
    # None before authentication.
    user: "User"
    # None for HTTP Basic and for a session.
    auth: "APIToken | None"


class TypedViewSet(TenantViewSet):
    """A view whose account and request have the models of this room. It comes first of the bases."""

    account: "Account"
    request: APIRequest


class ShortSettingsViewSet(TypedViewSet, Paged, ResourceViewSet):
    """CRUD of rows that belong to the settings: admins write them, and the team reads them. Their list is short, and not searched."""

    areas = ("settings",)
    areas_to_read = ()
    permission_classes = [IsAdminOrTeamReadOnly]

    def perform_update(self, serializer: ResourceSerializer) -> None:
        serializer.instance.write(serializer.values)


class SettingsViewSet(ShortSettingsViewSet, Listing):
    """CRUD of rows that belong to the settings, with a list that is searched."""
