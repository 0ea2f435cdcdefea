from django.urls import path

from accounts.statuses.pages import DealSettingsPage, PipelinePage, StatusesPage, StatusPage

urlpatterns = [
    path("app/account/statuses", StatusesPage.as_view(), name="accounts-statuses"),
    path("app/account/statuses/<id:id>", StatusPage.as_view(), name="accounts-status"),
    path("app/account/deals", DealSettingsPage.as_view(), name="accounts-deals"),
    path("app/account/pipelines/<id:id>", PipelinePage.as_view(), name="accounts-pipeline"),
]
