from django.urls import path

from accounts.api.tags import TagViewSet
from core.api.routing import RESOURCE, RESOURCE_ITEM
from forum.api.views import PostViewSet, TaskViewSet

LIST = {"get": "list"}

urlpatterns = [
    path("app/posts.json", PostViewSet.as_view(LIST | RESOURCE)),
    path("app/posts/<id:id>.json", PostViewSet.as_view(RESOURCE_ITEM)),
    path("app/posts/<id:id>/comments.json", PostViewSet.as_view({"get": "comments", "post": "create_comment"})),
    path("app/posts/<id:id>/vote.json", PostViewSet.as_view({"post": "vote", "delete": "withdraw_vote"})),
    path("app/posts/tags.json", TagViewSet.as_view(LIST, kind="post")),
    path("app/tasks.json", TaskViewSet.as_view(LIST)),
    path("app.json", TaskViewSet.as_view(LIST)),
]
