from django.urls import path

from team.reports.api import DashboardViewSet, ReportViewSet
from team.reports.catalogue import REPORTS
from team.reports.pages import DashboardPage, ReportPage

urlpatterns = [
    path("app/reports", DashboardPage.as_view(), name="team-reports"),
    path("app/reports/<slug:name>", ReportPage.as_view(), name="team-report"),
    path(
        "app/reports/dashboard.json",
        DashboardViewSet.as_view({"get": "retrieve", "put": "update", "patch": "update"}),
        name="team-json-dashboard",
    ),
    *(
        path(
            f"app/reports/{name}.json",
            ReportViewSet.as_view({"get": "retrieve"}, report=report),
            name=f"team-json-report-{name}",
        )
        for name, report in REPORTS.items()
    ),
]
