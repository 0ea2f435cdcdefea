from django.urls import path

from forum.content_reports.pages import ReportContentPage

urlpatterns = [
    path("app/posts/<id:id>/report", ReportContentPage.as_view(), name="forum-post-report"),
    path("app/posts/<id:id>/comments/<id:comment_id>/report", ReportContentPage.as_view(), name="forum-comment-report"),
]
