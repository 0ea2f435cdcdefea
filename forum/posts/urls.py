"""The routes of posts and tasks, with those of the Account API for the comments, the vote and the follow of a post."""

from django.urls import path

from accounts.tags.api import TagViewSet
from core.api.routing import LIST
from forum.posts import pages
from forum.posts.api import PostViewSet, TaskViewSet

view = PostViewSet.as_view

urlpatterns = [
    path(
        "app/posts/<id:id>/comments.json",
        view({"get": "comments", "post": "create_comment"}),
        name="forum-json-comments",
    ),
    path("app/posts/<id:id>/reactions.json", view({"post": "react"}), name="forum-json-reactions"),
    path("app/posts/<id:id>/vote.json", view({"post": "vote", "delete": "withdraw_vote"}), name="forum-json-vote"),
    path("app/posts/<id:id>/merge.json", view({"post": "merge", "delete": "undo_merge"}), name="forum-json-merge"),
    path("app/posts/<id:id>/follow.json", view({"post": "follow", "delete": "unfollow"}), name="forum-json-follow"),
    path("app/posts/tags.json", TagViewSet.as_view(LIST, kind="post"), name="forum-json-post-tags"),
    path("app/tasks.json", TaskViewSet.as_view(LIST), name="forum-json-tasks"),
    # The Account API serves the list of tasks at its root, too.
    path("app.json", TaskViewSet.as_view(LIST), name="forum-json-tasks-root"),
    path("app/posts/<id:id>", pages.PostPage.as_view(), name="forum-post"),
    path("app/posts/<id:id>-<slug:slug>", pages.PostPage.as_view(), name="forum-post-titled"),
    path("app/posts/new", pages.NewPostPage.as_view(), name="forum-post-new"),
    path("app/posts/similar", pages.SimilarPart.as_view(), name="forum-post-similar"),
    path("app/posts/<id:id>/edit", pages.EditPage.as_view(), name="forum-post-edit"),
    path("app/posts/<id:id>/delete", pages.DeletePage.as_view(), name="forum-post-delete"),
]
