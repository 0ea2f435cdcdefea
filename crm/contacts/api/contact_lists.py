"""Contact lists in the Account API (JSON)."""

from core.api.fields import IntegerField
from core.api.filters import ListFilters, link_filter
from core.api.serializers import ResourceSerializer
from core.api.unique_names import UniqueNameField
from crm.contacts.models import ContactList, ContactListQuerySet
from crm.resources.api.views import CRMViewSet


class ContactListSerializer(ResourceSerializer):
    model = ContactList
    creator_id = updater_id = None

    name = UniqueNameField(lambda account: account.contact_lists.live(), required=True)
    contacts_count = IntegerField(read_only=True)


class ContactListFilters(ListFilters):
    creator_id = link_filter()
    updater_id = link_filter()


class ContactListViewSet(CRMViewSet):
    model = ContactList
    serializer_class = ContactListSerializer
    filterset_class = ContactListFilters

    def get_list_queryset(self) -> ContactListQuerySet:
        rows: ContactListQuerySet = self.account.contact_lists.live()
        return rows

    def get_queryset(self) -> ContactListQuerySet:
        return self.get_list_queryset().with_counts(self.access)
