from django.urls import path

from team.exports.pages import ExportPage

urlpatterns = [
    path("app/clients/export.csv", ExportPage.as_view(resource="client"), name="team-clients-export"),
    path("app/contacts/export.csv", ExportPage.as_view(resource="contact"), name="team-contacts-export"),
    path("app/deals/export.csv", ExportPage.as_view(resource="deal"), name="team-deals-export"),
]
