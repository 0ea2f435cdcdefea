from django.urls import path

from core.api.routing import CREATE, LIST
from team.bulk.api import BulkChangeViewSet
from team.bulk.pages import BulkChangePage, BulkChangesPage, NewBulkChangePage

urlpatterns = [
    path("app/bulk_changes", BulkChangesPage.as_view(), name="team-bulk-changes"),
    path("app/bulk_changes/new", NewBulkChangePage.as_view(), name="team-bulk-change-new"),
    path("app/bulk_changes/<id:id>", BulkChangePage.as_view(), name="team-bulk-change"),
    path(
        "app/bulk_changes.json",
        BulkChangeViewSet.as_view(LIST | CREATE),
        name="team-json-bulk-changes",
    ),
    path(
        "app/bulk_changes/<id:id>.json",
        BulkChangeViewSet.as_view({"get": "retrieve"}),
        name="team-json-bulk-change",
    ),
    path(
        "app/bulk_changes/<id:id>/undo.json",
        BulkChangeViewSet.as_view({"post": "undo"}),
        name="team-json-bulk-change-undo",
    ),
    path(
        "app/bulk_changes/<id:id>/cancel.json",
        BulkChangeViewSet.as_view({"post": "cancel"}),
        name="team-json-bulk-change-cancel",
    ),
]
