from django.urls import path

from team.timeline.api import TimelineViewSet

urlpatterns = [
    path(
        f"app/{resource}s/<id:id>/timeline.json",
        TimelineViewSet.as_view({"get": "entries"}, resource=resource),
        name=f"team-json-{resource}-timeline",
    )
    for resource in ("client", "contact", "deal")
]
