from django.urls import path

from forum.inbox.pages.inbox import InboxPage
from forum.inbox.pages.moderation import ModerationPage, ReportedPage

urlpatterns = [
    path("app/inbox", InboxPage.as_view(), name="forum-inbox"),
    path("app/inbox/reported", ReportedPage.as_view(), name="forum-reported"),
    path("app/moderation", ModerationPage.as_view(), name="forum-moderation"),
]
