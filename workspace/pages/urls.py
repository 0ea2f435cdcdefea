from django.urls import URLPattern, path

from workspace.pages.creating import NewClientPage, NewContactPage, NewDealPage
from workspace.pages.fields import FieldPage, FieldsPage
from workspace.pages.lists import ClientsPage

urlpatterns: list[URLPattern] = [
    path("app/account/fields", FieldsPage.as_view(), name="workspace-fields"),
    path("app/account/fields/<id:id>", FieldPage.as_view(), name="workspace-field"),
    path("app/clients/new", NewClientPage.as_view(), name="workspace-client-new"),
    path("app/contacts/new", NewContactPage.as_view(), name="workspace-contact-new"),
    path("app/deals/new", NewDealPage.as_view(), name="workspace-deal-new"),
    path("app/clients", ClientsPage.as_view(), name="workspace-clients"),
]
