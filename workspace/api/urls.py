from django.urls import URLPattern, path

from workspace.api.reports import ReportViewSet
from workspace.reports.queries import REPORTS

urlpatterns: list[URLPattern] = [
    path(
        f"app/reports/{name}.json",
        ReportViewSet.as_view({"get": "retrieve"}, report=report),
        name=f"workspace-json-report-{name}",
    )
    for name, report in REPORTS.items()
]
