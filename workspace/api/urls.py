from django.urls import URLPattern, path

from workspace.api.backers import BackersViewSet

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
]
