from django.urls import URLPattern, path

from workspace.api.finding import FindViewSet
from workspace.api.merges import MergeViewSet
from workspace.api.reports import ReportViewSet
from workspace.reports.queries import REPORTS

urlpatterns: list[URLPattern] = [
    path("app/find.json", FindViewSet.as_view({"get": "retrieve"}), name="workspace-json-find"),
    *(
        path(
            f"app/reports/{name}.json",
            ReportViewSet.as_view({"get": "retrieve"}, report=report),
            name=f"workspace-json-report-{name}",
        )
        for name, report in REPORTS.items()
    ),
    *(
        path(
            f"app/{kind}s/<id:id>/merge.json",
            MergeViewSet.as_view({"post": "merge"}, kind=kind),
            name=f"workspace-json-{kind}-merge",
        )
        for kind in ("client", "contact")
    ),
    path("app/merges.json", MergeViewSet.as_view({"get": "list"}), name="workspace-json-merges"),
    path("app/merges/<id:id>.json", MergeViewSet.as_view({"get": "retrieve"}), name="workspace-json-merge"),
    path("app/merges/<id:id>/undo.json", MergeViewSet.as_view({"post": "undo"}), name="workspace-json-merge-undo"),
]
