from django.urls import path

from team.goals.pages import GoalsPage

urlpatterns = [path("app/account/goals", GoalsPage.as_view(), name="team-goals")]
