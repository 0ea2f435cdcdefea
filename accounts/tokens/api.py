"""The list of the user's own tokens in the Account API. Tokens are created and revoked on pages only, so that none can make another."""

from django.db.models import QuerySet

from accounts.hosts.api import APIRequest, TypedViewSet
from accounts.tokens.models import APIToken
from core.api.lists import Paged
from core.api.serializers import format_time
from core.openapi.operations import RESPONSES
from core.openapi.values import ID, NAME, TIME, array_of, object_of, or_null

TIMES = ("created_at", "last_used_at", "expires_at")


class TokenViewSet(TypedViewSet, Paged):
    """List of the user's tokens that are valid."""

    request: APIRequest
    areas = ("settings",)

    def get_queryset(self) -> QuerySet[APIToken]:
        return self.account.tokens.usable().filter(user_id=self.request.user.id).order_by("id")

    def represent(self, row: APIToken) -> dict[str, object]:
        names = ("id", "label", "hint", "scopes", "networks", "last_used_from")
        values = {name: getattr(row, name) for name in names}
        return values | {name: format_time(getattr(row, name), self.account.zone) for name in TIMES}


TOKEN = object_of(
    id=ID,
    label=NAME,
    hint=NAME,
    scopes=or_null(array_of(NAME)),
    networks=or_null(array_of(NAME)),
    last_used_from=NAME,
    created_at=TIME,
    last_used_at=or_null(TIME),
    expires_at=or_null(TIME),
)
RESPONSES["list_tokens"] = array_of(TOKEN)
