from django.urls import URLPattern, path

from workspace.api.timeline import TimelineViewSet

urlpatterns: list[URLPattern] = [
    path(
        f"app/{resource}s/<id:id>/timeline.json",
        TimelineViewSet.as_view({"get": "entries"}, resource=resource),
        name=f"workspace-json-{resource}-timeline",
    )
    for resource in ("client", "contact", "deal")
]
