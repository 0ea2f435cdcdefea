from django.urls import path

from team.move_in.pages import MoveInPage

urlpatterns = [path("app/account/move-in", MoveInPage.as_view(), name="team-move-in")]
