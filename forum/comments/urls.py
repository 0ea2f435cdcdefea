"""The routes of the pages. Those of the Account API are in `forum.posts.urls`, because the view of posts serves them."""

from django.urls import path

from forum.comments import pages

COMMENT = "app/posts/<id:id>/comments/<id:comment_id>"

urlpatterns = [
    path("app/posts/<id:id>/mentions", pages.MentionsPart.as_view(), name="forum-post-mentions"),
    path("app/posts/<id:id>/comments", pages.CommentPage.as_view(), name="forum-comments"),
    path("app/posts/<id:id>/reactions", pages.ReactionsPage.as_view(), name="forum-reactions"),
    path(COMMENT, pages.CommentLink.as_view(), name="forum-comment"),
    path(f"{COMMENT}/delete", pages.DeleteCommentPage.as_view(), name="forum-comment-delete"),
    path(f"{COMMENT}/edit", pages.EditCommentPage.as_view(), name="forum-comment-edit"),
    path(f"{COMMENT}/mark", pages.MarkCommentPage.as_view(), name="forum-comment-mark"),
    path(f"{COMMENT}/thread", pages.ThreadPage.as_view(), name="forum-comment-thread"),
    path(f"{COMMENT}/history", pages.CommentHistoryPage.as_view(), name="forum-comment-history"),
]
