"""Contacts and contact lists in the Account API (JSON)."""

from django.db.models import Exists, Model, OuterRef, QuerySet

from accounts.fields.api import DefinedFieldsField, DefinedFieldsSerializer
from accounts.tags.api import TagFilter
from core.api.additional_fields import CUSTOM_FIELDS
from core.api.fields import IntegerField, RelatedListField, TagsField
from core.api.filters import ListFilters, WireFilter, link_filter
from core.api.serializers import ResourceSerializer, UniqueNameField
from core.openapi.operations import SHAPES, Shape
from crm.contacts.models import Contact, ContactList, ContactListMembership, ContactListQuerySet, ContactQuerySet
from crm.resources.api.erasure import ErasableViewSet, describe_erasure
from crm.resources.api.fields import (
    BulkLookup,
    DerivedName,
    EmailFilter,
    ExternalIdPairsFilter,
    ExternalIds,
    ExternallyIdentifiedFilters,
)
from crm.resources.api.views import NAMES, CRMViewSet, describe_operations


class ContactSerializer(DefinedFieldsSerializer):
    model = Contact
    resource = "contact"
    typed = CUSTOM_FIELDS

    name = DerivedName()
    contact_list_ids = RelatedListField("contact_lists", after="client_id")
    tags = TagsField()
    additional_fields = DefinedFieldsField(CUSTOM_FIELDS)
    creator_id = IntegerField(read_only=True)
    updater_id = IntegerField(read_only=True)
    external_ids = ExternalIds(Contact)


class ContactListFilter(WireFilter):
    def __init__(self) -> None:
        super().__init__(IntegerField())

    def filter(self, rows: QuerySet[Model], list_id: int | None) -> QuerySet[Model]:
        if list_id is None or not self.parent.account.contact_lists.live().filter(id=list_id).exists():
            return rows if list_id is None else rows.none()
        memberships = ContactListMembership.objects.filter(account_id=OuterRef("account_id"), contact_list_id=list_id)
        return rows.filter(Exists(memberships.filter(contact_id=OuterRef("id"))))


class ContactFilters(ExternallyIdentifiedFilters):
    tag = TagFilter()
    external_ids = ExternalIdPairsFilter(Contact)
    email = EmailFilter()
    client_id = link_filter()
    contact_list_id = ContactListFilter()
    responsible_id = link_filter()
    creator_id = link_filter()
    updater_id = link_filter()


class ContactViewSet(ErasableViewSet):
    model = Contact
    serializer_class = ContactSerializer
    filterset_class = ContactFilters

    def get_list_queryset(self) -> ContactQuerySet:
        rows: ContactQuerySet = self.account.contacts.live().limited_to(self.access)
        return rows

    def get_queryset(self) -> ContactQuerySet:
        return self.get_list_queryset().with_list_ids()

    def lock_bulk(
        self, lookup: BulkLookup, bodies: list[dict[str, object]], nested_clients: list[dict[str, object]]
    ) -> None:
        lookup.look_up_holders(Contact, bodies)


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


# The OpenAPI document

SHAPES[ContactSerializer] = Shape(rules={"required": None, "anyOf": NAMES})
describe_operations("contact")
describe_erasure("contact")
