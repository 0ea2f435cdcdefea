from django.urls import URLPattern, path

from workspace.api.merges import MergeViewSet

urlpatterns: list[URLPattern] = [
    *(
        path(
            f"app/{kind}s/<id:id>/merge.json",
            MergeViewSet.as_view({"post": "merge"}, kind=kind),
            name=f"workspace-json-{kind}-merge",
        )
        for kind in ("client", "contact")
    ),
    path("app/merges.json", MergeViewSet.as_view({"get": "list"}), name="workspace-json-merges"),
    path("app/merges/<id:id>.json", MergeViewSet.as_view({"get": "retrieve"}), name="workspace-json-merge"),
    path("app/merges/<id:id>/undo.json", MergeViewSet.as_view({"post": "undo"}), name="workspace-json-merge-undo"),
]
