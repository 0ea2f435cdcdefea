from django.urls import path

from team.search.api import FindViewSet
from team.search.pages import FindPage

urlpatterns = [
    path("app/find", FindPage.as_view(), name="team-find"),
    path("app/find.json", FindViewSet.as_view({"get": "retrieve"}), name="team-json-find"),
]
