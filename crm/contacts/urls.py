from django.urls import path

from accounts.tags.api import TagViewSet
from core.api.routing import BULK, CREATE, ITEM, LIST, UPSERT
from crm.contacts.api.contact_lists import ContactListViewSet
from crm.contacts.api.contacts import ContactViewSet

urlpatterns = [
    path("app/contacts.json", ContactViewSet.as_view(LIST | CREATE | UPSERT), name="crm-json-contacts"),
    path("app/contacts/<id:id>.json", ContactViewSet.as_view(ITEM), name="crm-json-contact"),
    path("app/contacts/bulk.json", ContactViewSet.as_view(BULK), name="crm-json-contacts-bulk"),
    path("app/contacts/tags.json", TagViewSet.as_view(LIST, kind="contact"), name="crm-json-contact-tags"),
    path("app/contact_lists.json", ContactListViewSet.as_view(LIST | CREATE), name="crm-json-contact-lists"),
    path("app/contact_lists/<id:id>.json", ContactListViewSet.as_view(ITEM), name="crm-json-contact-list"),
]
