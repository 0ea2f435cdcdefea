from django.urls import path

from team.list_queries.declarations import LISTS
from team.merges.api import MergeViewSet
from team.merges.pages import MergeRecordsPage, UndoMergeView

urlpatterns = [
    path("app/clients/<id:id>/merge", MergeRecordsPage.as_view(declaration=LISTS["client"]), name="team-client-merge"),
    path(
        "app/contacts/<id:id>/merge", MergeRecordsPage.as_view(declaration=LISTS["contact"]), name="team-contact-merge"
    ),
    path("app/merges/<id:id>/undo", UndoMergeView.as_view(), name="team-merge-undo"),
    *(
        path(
            f"app/{kind}s/<id:id>/merge.json",
            MergeViewSet.as_view({"post": "merge"}, kind=kind),
            name=f"team-json-{kind}-merge",
        )
        for kind in ("client", "contact")
    ),
    path("app/merges.json", MergeViewSet.as_view({"get": "list"}), name="team-json-merges"),
    path("app/merges/<id:id>.json", MergeViewSet.as_view({"get": "retrieve"}), name="team-json-merge"),
    path("app/merges/<id:id>/undo.json", MergeViewSet.as_view({"post": "undo"}), name="team-json-merge-undo"),
]
