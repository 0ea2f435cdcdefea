from django.urls import path

from team.board.api import BoardViewSet
from team.board.pages import BoardPage, MovePage

urlpatterns = [
    path("app/deals/board", BoardPage.as_view(), name="team-board"),
    path("app/deals/<id:id>/move", MovePage.as_view(), name="team-deal-move"),
    path("app/deals/board.json", BoardViewSet.as_view({"get": "board"}), name="team-json-board"),
    path("app/deals/<id:id>/move.json", BoardViewSet.as_view({"post": "move"}), name="team-json-deal-move"),
]
