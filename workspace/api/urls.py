from django.urls import URLPattern, path

from workspace.api.board import BoardViewSet

urlpatterns: list[URLPattern] = [
    path("app/deals/board.json", BoardViewSet.as_view({"get": "board"}), name="workspace-json-board"),
    path("app/deals/<id:id>/move.json", BoardViewSet.as_view({"post": "move"}), name="workspace-json-deal-move"),
]
