from django.urls import URLPattern, path

from workspace.pages import records
from workspace.pages.creating import NewClientPage, NewContactPage, NewDealPage
from workspace.pages.fields import FieldPage, FieldsPage
from workspace.pages.finding import FindPage
from workspace.pages.lists import ClientsPage

urlpatterns: list[URLPattern] = [
    path("app/find", FindPage.as_view(), name="workspace-find"),
    path("app/clients/<id:id>", records.ClientPage.as_view(), name="workspace-client"),
    path("app/clients/<id:id>/edit", records.EditClientPage.as_view(), name="workspace-client-edit"),
    path("app/contacts/<id:id>", records.ContactPage.as_view(), name="workspace-contact"),
    path("app/contacts/<id:id>/edit", records.EditContactPage.as_view(), name="workspace-contact-edit"),
    path("app/deals/<id:id>", records.DealPage.as_view(), name="workspace-deal"),
    path("app/deals/<id:id>/edit", records.EditDealPage.as_view(), name="workspace-deal-edit"),
    path("app/account/fields", FieldsPage.as_view(), name="workspace-fields"),
    path("app/account/fields/<id:id>", FieldPage.as_view(), name="workspace-field"),
    path("app/clients/new", NewClientPage.as_view(), name="workspace-client-new"),
    path("app/contacts/new", NewContactPage.as_view(), name="workspace-contact-new"),
    path("app/deals/new", NewDealPage.as_view(), name="workspace-deal-new"),
    path("app/clients", ClientsPage.as_view(), name="workspace-clients"),
]
