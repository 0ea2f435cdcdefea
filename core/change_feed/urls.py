from django.urls import path

from core.change_feed.api import ChangeViewSet

urlpatterns = [path("app/changes.json", ChangeViewSet.as_view({"get": "list"}), name="core-json-changes")]
