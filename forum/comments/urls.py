"""The routes of the pages. Those of the Account API are in `forum.posts.urls`, because the view of posts serves them."""

from django.urls import path

from forum.comments.pages import (
    CommentHistoryPage,
    CommentLink,
    CommentPage,
    DeleteCommentPage,
    EditCommentPage,
    MentionsPart,
)

urlpatterns = [
    path("app/posts/<id:id>/mentions", MentionsPart.as_view(), name="forum-post-mentions"),
    path("app/posts/<id:id>/comments", CommentPage.as_view(), name="forum-comments"),
    path("app/posts/<id:id>/comments/<id:comment_id>", CommentLink.as_view(), name="forum-comment"),
    path("app/posts/<id:id>/comments/<id:comment_id>/delete", DeleteCommentPage.as_view(), name="forum-comment-delete"),
    path("app/posts/<id:id>/comments/<id:comment_id>/edit", EditCommentPage.as_view(), name="forum-comment-edit"),
    path(
        "app/posts/<id:id>/comments/<id:comment_id>/history", CommentHistoryPage.as_view(), name="forum-comment-history"
    ),
]
