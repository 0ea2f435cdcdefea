"""Links from users to clients and contacts in the Account API (JSON)."""

from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.hosts.api import APIRequest
from core.api.fields import ChoiceField, IntegerField, RelatedField
from core.api.filters import ListFilters, WireFilter, link_filter
from core.api.lists import Paged
from core.api.resources import ResourceViewSet
from core.api.serializers import ResourceSerializer
from core.errors import FieldError, FieldErrors
from core.openapi.fields import FILLED_ID
from core.openapi.operations import SHAPES, Shape
from core.openapi.values import required_fields
from crm.user_links.models import UserLink, UserLinkQuerySet

# The fields that only a new link takes. The whole response may be sent back.
FIXED = ("user_id", "client_id", "contact_id")


class UserLinkSerializer(ResourceSerializer):
    model = UserLink

    user_id = RelatedField("users")
    client_id = RelatedField("clients")
    contact_id = RelatedField("contacts")
    state = ChoiceField(UserLink.State.values)
    creator_id = IntegerField(read_only=True)
    updater_id = IntegerField(read_only=True)

    def validate(self, values: dict[str, object]) -> dict[str, object]:
        """Apply the rules that involve several fields. A null state is ignored."""
        if values.get("state", "") is None:
            del values["state"]
        row = self.instance
        if row is None:
            if values.get("user_id") is None:
                raise FieldError("user_id", _("can't be blank"), "required")
            return values
        changed = [name for name in FIXED if values.pop(name, getattr(row, name)) != getattr(row, name)]
        if changed:
            raise FieldErrors(FieldError(name, _("can't be changed: create another link"), "fixed") for name in changed)
        return values


class UserLinkFilters(ListFilters):
    # The list is neither searched nor read by time.
    q = updated_since = None  # type: ignore[assignment]  # removes the filters of the base class
    user_id = link_filter()
    client_id = link_filter()
    contact_id = link_filter()
    state = WireFilter(ChoiceField(UserLink.State.values))


class UserLinkViewSet(Paged, ResourceViewSet):
    """CRUD of links from users to clients and contacts. The list is ordered by id."""

    account: Account
    request: APIRequest

    model = UserLink
    serializer_class = UserLinkSerializer
    filterset_class = UserLinkFilters

    def get_queryset(self) -> UserLinkQuerySet:
        rows: UserLinkQuerySet = self.account.user_links.limited_to(self.access)
        return rows.order_by("id")

    def perform_destroy(self, row: UserLink) -> None:
        row.erase()


# The OpenAPI document: a user, and either a client or a contact.

TARGETS = required_fields(("client_id", "contact_id"), FILLED_ID, "user_id")
SHAPES[UserLinkSerializer] = Shape(rules={"oneOf": TARGETS})
