from django.urls import path

from accounts.api.tags import TagViewSet
from core.api.routing import BULK, CREATE, ITEM, LIST
from crm.api.clients import ClientViewSet
from crm.api.contact_lists import ContactListViewSet
from crm.api.contacts import ContactViewSet
from crm.api.deals import DealViewSet
from crm.api.field_definitions import FieldDefinitionViewSet
from crm.api.notes import NoteViewSet
from crm.api.similar import SimilarViewSet
from crm.api.user_links import UserLinkViewSet

UPSERT = {"put": "upsert", "patch": "upsert"}

urlpatterns = [
    path("app/clients.json", ClientViewSet.as_view(LIST | CREATE | UPSERT), name="crm-json-clients"),
    path("app/clients/<id:id>.json", ClientViewSet.as_view(ITEM), name="crm-json-client"),
    path("app/contacts.json", ContactViewSet.as_view(LIST | CREATE | UPSERT), name="crm-json-contacts"),
    path("app/contacts/<id:id>.json", ContactViewSet.as_view(ITEM), name="crm-json-contact"),
    path("app/contact_lists.json", ContactListViewSet.as_view(LIST | CREATE), name="crm-json-contact-lists"),
    path("app/contact_lists/<id:id>.json", ContactListViewSet.as_view(ITEM), name="crm-json-contact-list"),
    path("app/deals.json", DealViewSet.as_view(LIST | CREATE | UPSERT), name="crm-json-deals"),
    path("app/deals/<id:id>.json", DealViewSet.as_view(ITEM), name="crm-json-deal"),
    path("app/similar.json", SimilarViewSet.as_view({"get": "retrieve"}), name="crm-json-similar"),
    path("app/user_links.json", UserLinkViewSet.as_view(LIST | CREATE), name="crm-json-user-links"),
    path("app/user_links/<id:id>.json", UserLinkViewSet.as_view(ITEM), name="crm-json-user-link"),
    path("app/notes.json", NoteViewSet.as_view(LIST | CREATE), name="crm-json-notes"),
    path("app/notes/<id:id>.json", NoteViewSet.as_view(ITEM), name="crm-json-note"),
    path(
        "app/field_definitions.json",
        FieldDefinitionViewSet.as_view(LIST | CREATE),
        name="crm-json-field-definitions",
    ),
    path("app/field_definitions/<id:id>.json", FieldDefinitionViewSet.as_view(ITEM), name="crm-json-field-definition"),
    path(
        "app/field_definitions/<id:id>/misfits.json",
        FieldDefinitionViewSet.as_view({"get": "misfits"}),
        name="crm-json-field-definition-misfits",
    ),
    path("app/deals/<id:id>/stages.json", DealViewSet.as_view({"get": "stages"}), name="crm-json-deal-stages"),
    path("app/clients/bulk.json", ClientViewSet.as_view(BULK), name="crm-json-clients-bulk"),
    path("app/contacts/bulk.json", ContactViewSet.as_view(BULK), name="crm-json-contacts-bulk"),
    path("app/deals/bulk.json", DealViewSet.as_view(BULK), name="crm-json-deals-bulk"),
    *(
        path(f"app/{kind}s/tags.json", TagViewSet.as_view(LIST, kind=kind), name=f"crm-json-{kind}-tags")
        for kind in ("client", "contact", "deal")
    ),
]
