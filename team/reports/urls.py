from django.urls import path

from team.reports.api import ReportViewSet
from team.reports.catalogue import REPORTS
from team.reports.pages import DashboardPage, ReportPage

urlpatterns = [
    path("app/reports", DashboardPage.as_view(), name="team-reports"),
    path("app/reports/<slug:name>", ReportPage.as_view(), name="team-report"),
    *(
        path(
            f"app/reports/{name}.json",
            ReportViewSet.as_view({"get": "retrieve"}, report=report),
            name=f"team-json-report-{name}",
        )
        for name, report in REPORTS.items()
    ),
]
