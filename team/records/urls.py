from django.urls import path

from team.records.pages.create import ContactListPage, NewClientPage, NewContactListPage, NewContactPage, NewDealPage
from team.records.pages.edit import EditRecordPage
from team.records.pages.record import ClientPage, ContactPage, DealPage, EditFieldPage

urlpatterns = [
    path("app/clients/<id:id>", ClientPage.as_view(), name="team-client"),
    path("app/clients/<id:id>/edit", EditFieldPage.as_view(record_class=ClientPage), name="team-client-edit"),
    path("app/clients/<id:id>/edit/all", EditRecordPage.as_view(record_class=ClientPage), name="team-client-edit-all"),
    path("app/contacts/<id:id>", ContactPage.as_view(), name="team-contact"),
    path("app/contacts/<id:id>/edit", EditFieldPage.as_view(record_class=ContactPage), name="team-contact-edit"),
    path(
        "app/contacts/<id:id>/edit/all", EditRecordPage.as_view(record_class=ContactPage), name="team-contact-edit-all"
    ),
    path("app/deals/<id:id>", DealPage.as_view(), name="team-deal"),
    path("app/deals/<id:id>/edit", EditFieldPage.as_view(record_class=DealPage), name="team-deal-edit"),
    path("app/deals/<id:id>/edit/all", EditRecordPage.as_view(record_class=DealPage), name="team-deal-edit-all"),
    path("app/clients/new", NewClientPage.as_view(), name="team-client-new"),
    path("app/contacts/new", NewContactPage.as_view(), name="team-contact-new"),
    path("app/deals/new", NewDealPage.as_view(), name="team-deal-new"),
    path("app/contact_lists/new", NewContactListPage.as_view(), name="team-contact-list-new"),
    path("app/contact_lists/<id:id>", ContactListPage.as_view(), name="team-contact-list"),
]
