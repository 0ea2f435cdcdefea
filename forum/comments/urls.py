"""The routes of the pages. Those of the Account API are in `forum.posts.urls`, because the view of posts serves them."""

from django.urls import path

from forum.comments import pages

urlpatterns = [
    path("app/posts/<id:id>/mentions", pages.MentionsPart.as_view(), name="forum-post-mentions"),
    path("app/posts/<id:id>/comments", pages.CommentPage.as_view(), name="forum-comments"),
    path("app/posts/<id:id>/comments/<id:comment_id>", pages.CommentLink.as_view(), name="forum-comment"),
    path(
        "app/posts/<id:id>/comments/<id:comment_id>/delete",
        pages.DeleteCommentPage.as_view(),
        name="forum-comment-delete",
    ),
    path("app/posts/<id:id>/comments/<id:comment_id>/edit", pages.EditCommentPage.as_view(), name="forum-comment-edit"),
    path(
        "app/posts/<id:id>/comments/<id:comment_id>/history",
        pages.CommentHistoryPage.as_view(),
        name="forum-comment-history",
    ),
]
