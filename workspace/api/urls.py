from django.urls import URLPattern, path

from workspace.api.finding import FindViewSet
from workspace.api.reports import ReportViewSet
from workspace.api.timeline import TimelineViewSet
from workspace.reports.queries import REPORTS

urlpatterns: list[URLPattern] = [
    path("app/find.json", FindViewSet.as_view({"get": "retrieve"}), name="workspace-json-find"),
    *(
        path(
            f"app/{resource}s/<id:id>/timeline.json",
            TimelineViewSet.as_view({"get": "entries"}, resource=resource),
            name=f"workspace-json-{resource}-timeline",
        )
        for resource in ("client", "contact", "deal")
    ),
    *(
        path(
            f"app/reports/{name}.json",
            ReportViewSet.as_view({"get": "retrieve"}, report=report),
            name=f"workspace-json-report-{name}",
        )
        for name, report in REPORTS.items()
    ),
]
