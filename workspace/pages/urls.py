from django.urls import URLPattern, path

from workspace.pages.fields import FieldPage, FieldsPage
from workspace.pages.lists import ClientsPage, ContactListsPage, ContactsPage, DealsPage

urlpatterns: list[URLPattern] = [
    path("app/account/fields", FieldsPage.as_view(), name="workspace-fields"),
    path("app/account/fields/<id:id>", FieldPage.as_view(), name="workspace-field"),
    path("app/clients", ClientsPage.as_view(), name="workspace-clients"),
    path("app/contacts", ContactsPage.as_view(), name="workspace-contacts"),
    path("app/contact_lists", ContactListsPage.as_view(), name="workspace-contact-lists"),
    path("app/deals", DealsPage.as_view(), name="workspace-deals"),
]
