from django.urls import path

from team.summaries.api import SummaryViewSet

urlpatterns = [
    path(
        f"app/{resource}s/<id:id>/summary.json",
        SummaryViewSet.as_view({"get": "retrieve"}, resource=resource),
        name=f"team-json-{resource}-summary",
    )
    for resource in ("client", "contact", "deal")
]
