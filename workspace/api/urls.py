from django.urls import URLPattern, path

from workspace.api.board import BoardViewSet
from workspace.api.finding import FindViewSet
from workspace.api.reports import ReportViewSet
from workspace.reports.queries import REPORTS

urlpatterns: list[URLPattern] = [
    path("app/deals/board.json", BoardViewSet.as_view({"get": "board"}), name="workspace-json-board"),
    path("app/deals/<id:id>/move.json", BoardViewSet.as_view({"post": "move"}), name="workspace-json-deal-move"),
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
