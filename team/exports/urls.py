from django.urls import path

from core.api.routing import CREATE, LIST
from team.exports.api import ExportViewSet
from team.exports.pages import ExportFilePage, ExportPage, ExportsPage

urlpatterns = [
    path("app/exports", ExportsPage.as_view(), name="team-exports"),
    path("app/exports/<id:id>", ExportPage.as_view(), name="team-export"),
    path(
        "app/exports/<id:id>/file",
        ExportFilePage.as_view(api_view=ExportViewSet.as_view({"get": "file"})),
        name="team-export-file",
    ),
    path("app/exports.json", ExportViewSet.as_view(LIST | CREATE), name="team-json-exports"),
    path(
        "app/exports/<id:id>.json",
        ExportViewSet.as_view({"get": "retrieve", "delete": "destroy"}),
        name="team-json-export",
    ),
]
