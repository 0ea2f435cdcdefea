from django.urls import path

from core.api.routing import CREATE, LIST
from team.imports.api import ImportViewSet

urlpatterns = [
    path("app/imports.json", ImportViewSet.as_view(LIST | CREATE), name="team-json-imports"),
    path(
        "app/imports/<id:id>.json",
        ImportViewSet.as_view({"get": "retrieve", "put": "update", "patch": "update", "delete": "destroy"}),
        name="team-json-import",
    ),
    path("app/imports/<id:id>/faults.json", ImportViewSet.as_view({"get": "faults"}), name="team-json-import-faults"),
    *(
        path(
            f"app/imports/<id:id>/{name}.json",
            ImportViewSet.as_view({"post": action}),
            name=f"team-json-import-{name}",
        )
        for name, action in (
            ("read", "read"),
            ("preview", "preview"),
            ("check", "check_all"),
            ("start", "start"),
            ("cancel", "cancel"),
            ("undo", "undo"),
        )
    ),
]
