from django.urls import path

from team.backers.api import BackersViewSet, SuggestionRevenueViewSet
from team.backers.pages import BackersPage

urlpatterns = [
    path("app/posts/<id:id>/clients", BackersPage.as_view(), name="team-post-clients"),
    path("app/posts/revenue.json", SuggestionRevenueViewSet.as_view({"get": "list"}), name="team-json-posts-revenue"),
    path("app/posts/<id:id>/clients.json", BackersViewSet.as_view({"get": "clients"}), name="team-json-post-clients"),
    path("app/posts/<id:id>/revenue.json", BackersViewSet.as_view({"get": "revenue"}), name="team-json-post-revenue"),
]
