from django.urls import path

from team.home.api import HomeViewSet
from team.home.pages import HomePage

urlpatterns = [
    path("app/home", HomePage.as_view(), name="team-home"),
    path("app/home.json", HomeViewSet.as_view({"get": "retrieve"}), name="team-json-home"),
]
