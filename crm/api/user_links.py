"""Links from users to clients and contacts in the Account API (JSON)."""

from typing import Any

from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _

from accounts.models import Account
from core.api.fields import ChoiceField, IntegerField, RelatedField
from core.api.filters import ListFilters, WireFilter, link_filter
from core.api.lists import Paged
from core.api.requests import APIRequest
from core.api.resources import ResourceViewSet
from core.api.serializers import ResourceSerializer
from core.db.transactions import in_transaction
from core.errors import FieldError, FieldErrors
from crm.user_links import UserLink, UserLinkQuerySet

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

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
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

    key = "user_link"
    route = "crm-json-user-link"
    model = UserLink
    serializer_class = UserLinkSerializer

    @staticmethod
    def rows_of(account: Account) -> UserLinkQuerySet:
        return account.user_links.all()

    def create_row(self, values: dict[str, Any]) -> UserLink:
        row = UserLink(account=self.account)
        self.update_row(row, values)
        return row

    def update_row(self, row: UserLink, values: dict[str, Any]) -> None:
        row.write(values, by=self.request.user)

    def destroy(self, request: APIRequest, id: int) -> HttpResponse:
        in_transaction(lambda: self.find(id, locked=True).erase())
        return self.respond("ok")

    def list(self, request: APIRequest) -> HttpResponse:
        filters = UserLinkFilters(self.parameters, self.rows(), account=self.account)
        page = self.read_page(*UserLinkFilters.parameters(), errors=filters.find_errors())
        return self.respond_with_page(page, filters.qs.order_by("id")[page.start : page.stop])
