from django.urls import path

from forum.team_tools.pages import MergePostPage, MovePostPage, ToolsPage

urlpatterns = [
    path("app/posts/<id:id>/team", ToolsPage.as_view(), name="forum-post-team"),
    path("app/posts/<id:id>/move", MovePostPage.as_view(), name="forum-post-move"),
    path("app/posts/<id:id>/merge", MergePostPage.as_view(), name="forum-post-merge"),
]
