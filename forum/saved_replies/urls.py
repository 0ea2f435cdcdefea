from django.urls import path

from forum.saved_replies.pages import SavedRepliesPage, SavedRepliesPart, SavedReplyPage

urlpatterns = [
    path("app/account/saved_replies", SavedRepliesPage.as_view(), name="forum-settings-saved-replies"),
    path("app/account/saved_replies/<id:id>", SavedReplyPage.as_view(), name="forum-settings-saved-reply"),
    path("app/posts/<id:id>/replies", SavedRepliesPart.as_view(), name="forum-post-replies"),
]
