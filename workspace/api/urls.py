from django.urls import URLPattern, path

from core.api.routing import CREATE, ITEM
from workspace.api.saved_views import SavedViewViewSet

urlpatterns: list[URLPattern] = [
    path("app/views.json", SavedViewViewSet.as_view({"get": "list"} | CREATE), name="workspace-json-views"),
    path("app/views/<id:id>.json", SavedViewViewSet.as_view(ITEM), name="workspace-json-view"),
]
