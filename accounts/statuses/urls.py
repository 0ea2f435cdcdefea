from django.urls import path

from accounts.statuses.api.pipelines import PipelineViewSet
from accounts.statuses.api.statuses import StatusViewSet
from accounts.statuses.pages.deals import DealSettingsPage, PipelinePage
from accounts.statuses.pages.statuses import StatusesPage, StatusPage
from core.api.routing import CREATE, ITEM, LIST

urlpatterns = [
    path("app/statuses.json", StatusViewSet.as_view(LIST | CREATE), name="accounts-json-statuses"),
    path("app/statuses/<id:id>.json", StatusViewSet.as_view(ITEM), name="accounts-json-status"),
    path("app/pipelines.json", PipelineViewSet.as_view(LIST | CREATE), name="accounts-json-pipelines"),
    path("app/pipelines/<id:id>.json", PipelineViewSet.as_view(ITEM), name="accounts-json-pipeline"),
    path("app/account/statuses", StatusesPage.as_view(), name="accounts-statuses"),
    path("app/account/statuses/<id:id>", StatusPage.as_view(), name="accounts-status"),
    path("app/account/deals", DealSettingsPage.as_view(), name="accounts-deals"),
    path("app/account/pipelines/<id:id>", PipelinePage.as_view(), name="accounts-pipeline"),
]
