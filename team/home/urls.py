from django.urls import path

from team.home.api import ExamplesViewSet, FirstStepsViewSet, HomeViewSet
from team.home.pages import HomePage

urlpatterns = [
    path("app/home", HomePage.as_view(), name="team-home"),
    path("app/home.json", HomeViewSet.as_view({"get": "retrieve"}), name="team-json-home"),
    path("app/first_steps.json", FirstStepsViewSet.as_view({"get": "retrieve"}), name="team-json-first-steps"),
    path(
        "app/examples.json",
        ExamplesViewSet.as_view({"post": "create", "delete": "destroy"}),
        name="team-json-examples",
    ),
]
