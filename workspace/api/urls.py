from django.urls import URLPattern, path

from workspace.api.backers import BackersViewSet
from workspace.api.finding import FindViewSet
from workspace.api.reports import ReportViewSet
from workspace.reports.queries import REPORTS

urlpatterns: list[URLPattern] = [
    path(
        "app/posts/<id:id>/clients.json",
        BackersViewSet.as_view({"get": "clients"}),
        name="workspace-json-post-clients",
    ),
    path(
        "app/posts/<id:id>/revenue.json",
        BackersViewSet.as_view({"get": "revenue"}),
        name="workspace-json-post-revenue",
    ),
    path("app/find.json", FindViewSet.as_view({"get": "retrieve"}), name="workspace-json-find"),
    *(
        path(
            f"app/reports/{name}.json",
            ReportViewSet.as_view({"get": "retrieve"}, report=report),
            name=f"workspace-json-report-{name}",
        )
        for name, report in REPORTS.items()
    ),
]
