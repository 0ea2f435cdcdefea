from django.urls import path

from accounts.tags.api import TagViewSet
from core.api.routing import CREATE, ITEM, LIST
from forum.notifications.api import NotificationViewSet
from forum.posts.api.views import PostViewSet, TaskViewSet

urlpatterns = [
    path("app/posts.json", PostViewSet.as_view(LIST | CREATE), name="forum-json-posts"),
    path("app/posts/<id:id>.json", PostViewSet.as_view(ITEM), name="forum-json-post"),
    path(
        "app/posts/<id:id>/comments.json",
        PostViewSet.as_view({"get": "comments", "post": "create_comment"}),
        name="forum-json-comments",
    ),
    path(
        "app/posts/<id:id>/vote.json",
        PostViewSet.as_view({"post": "vote", "delete": "withdraw_vote"}),
        name="forum-json-vote",
    ),
    path(
        "app/posts/<id:id>/follow.json",
        PostViewSet.as_view({"post": "follow", "delete": "unfollow"}),
        name="forum-json-follow",
    ),
    path("app/notifications.json", NotificationViewSet.as_view(LIST), name="forum-json-notifications"),
    path(
        "app/notifications/read.json",
        NotificationViewSet.as_view({"post": "read_all"}),
        name="forum-json-notifications-read",
    ),
    path(
        "app/notifications/<id:id>/read.json",
        NotificationViewSet.as_view({"post": "read"}),
        name="forum-json-notification-read",
    ),
    path("app/posts/tags.json", TagViewSet.as_view(LIST, kind="post"), name="forum-json-post-tags"),
    path("app/tasks.json", TaskViewSet.as_view(LIST), name="forum-json-tasks"),
    # The Account API serves the list of tasks at its root, too.
    path("app.json", TaskViewSet.as_view(LIST), name="forum-json-tasks-root"),
]
