from django.urls import path

from accounts.tags.api import TagViewSet
from core.api.routing import BULK, LIST
from crm.contacts.api import ContactViewSet

urlpatterns = [
    path("app/contacts/bulk.json", ContactViewSet.as_view(BULK), name="crm-json-contacts-bulk"),
    path("app/contacts/tags.json", TagViewSet.as_view(LIST, kind="contact"), name="crm-json-contact-tags"),
]
