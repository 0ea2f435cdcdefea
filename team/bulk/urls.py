from django.urls import path

from core.api.routing import CREATE, LIST
from team.bulk.api import BulkChangeViewSet
from team.bulk.pages import BulkChangePage, BulkChangesPage, NewBulkChangePage

urlpatterns = [
    path("app/bulk_changes", BulkChangesPage.as_view(), name="team-bulk-changes"),
    path("app/bulk_changes/new", NewBulkChangePage.as_view(), name="team-bulk-change-new"),
    path("app/bulk_changes/<id:id>", BulkChangePage.as_view(), name="team-bulk-change"),
    path("app/bulk_changes.json", BulkChangeViewSet.as_view(LIST | CREATE), name="team-json-bulk-changes"),
    path("app/bulk_changes/<id:id>.json", BulkChangeViewSet.as_view({"get": "retrieve"}), name="team-json-bulk-change"),
    *(
        path(
            f"app/bulk_changes/<id:id>/{action}.json",
            BulkChangeViewSet.as_view({"post": action}),
            name=f"team-json-bulk-change-{action}",
        )
        for action in ("undo", "cancel")
    ),
]
