"""The registration of contacts and contact lists (`core.rooms`)."""

from django.utils.translation import gettext_lazy as _

from core.registry import Resource, newest_id, registry
from crm.contacts.models import Contact, ContactList

registry.register(
    Resource(
        "contact",
        Contact,
        "crm.contacts.api.contacts.ContactViewSet",
        label=_("Contact"),
        plural_label=_("Contacts"),
        icon="user",
        collection="contacts",
        is_customer=True,
        samples={"contact": lambda request: newest_id(request.account.contacts.live().accessible_to(request.user))},
    ),
    Resource(
        "contact_list",
        ContactList,
        "crm.contacts.api.contact_lists.ContactListViewSet",
        label=_("Contact list"),
        plural_label=_("Contact lists"),
        icon="list",
        collection="contact_lists",
        samples={"contact_list": lambda request: newest_id(request.account.contact_lists.live())},
    ),
)
