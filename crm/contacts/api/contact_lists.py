"""Contact lists in the Account API (JSON)."""

from typing import cast

from django.utils.translation import gettext_lazy as _

from core.api.fields import IntegerField, TextField
from core.api.filters import ListFilters, link_filter
from core.api.serializers import ResourceSerializer
from core.rows.trimmed import name_key
from crm.contacts.models import ContactList, ContactListQuerySet
from crm.resources.api.views import CRMViewSet


class ContactListName(TextField):
    """A name that is unique among the account's contact lists outside the trash."""

    default_error_messages = {"taken": _("is already taken")}

    def to_internal_value(self, data: object) -> str:
        name = cast(str, super().to_internal_value(data))
        others = self.context["account"].contact_lists.live().filter(name_key=name_key(name))
        if self.parent.instance:
            others = others.exclude(id=self.parent.instance.id)
        if others.exists():
            self.fail("taken")
        return name


class ContactListSerializer(ResourceSerializer):
    model = ContactList

    name = ContactListName(required=True)
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
