"""The resources of the CRM."""

from django.utils.translation import gettext_lazy as _

from core.registry import Resource, newest_id
from crm.models import Client, Contact, ContactList, Deal, FieldDefinition, Note, UserLink
from crm.user_links import unlinked_members

RESOURCES = (
    Resource(
        "client",
        Client,
        "crm.api.clients.ClientViewSet",
        label=_("Client"),
        plural_label=_("Clients"),
        icon="building-2",
        collection="clients",
        is_customer=True,
        samples={"client": lambda request: newest_id(request.account.clients.live().accessible_to(request.user))},
    ),
    Resource(
        "contact",
        Contact,
        "crm.api.contacts.ContactViewSet",
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
        "crm.api.contact_lists.ContactListViewSet",
        label=_("Contact list"),
        plural_label=_("Contact lists"),
        icon="list",
        collection="contact_lists",
        samples={"contact_list": lambda request: newest_id(request.account.contact_lists.live())},
    ),
    Resource(
        "deal",
        Deal,
        "crm.api.deals.DealViewSet",
        label=_("Deal"),
        plural_label=_("Deals"),
        icon="handshake",
        collection="deals",
        samples={"deal": lambda request: newest_id(request.account.deals.live().accessible_to(request.user))},
    ),
    Resource(
        "note",
        Note,
        "crm.api.notes.NoteViewSet",
        label=_("Note"),
        plural_label=_("Notes"),
        icon="sticky-note",
        collection="notes",
        samples={"note": lambda request: newest_id(request.account.notes.live().accessible_to(request.user))},
    ),
    Resource(
        "user_link",
        UserLink,
        "crm.api.user_links.UserLinkViewSet",
        label=_("Link of a user"),
        plural_label=_("Links of users"),
        icon="link",
        collection="user_links",
        samples={
            "user_link": lambda request: newest_id(request.account.user_links.limited_to(request.user.access)),
            "user": lambda request: newest_id(unlinked_members(request.account)),
        },
    ),
    Resource(
        "field_definition",
        FieldDefinition,
        "crm.api.field_definitions.FieldDefinitionViewSet",
        label=_("Field"),
        plural_label=_("Fields"),
        icon="text-cursor-input",
        collection="field_definitions",
        samples={"field_definition": lambda request: newest_id(request.account.field_definitions.all())},
    ),
)
