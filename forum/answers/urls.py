from django.urls import path

from forum.answers.pages import AnswerPage, AnswersPage, ScheduledAnswerPage

urlpatterns = [
    path("app/posts/<id:id>/answer", AnswerPage.as_view(), name="forum-post-answer"),
    path("app/posts/<id:id>/answers", AnswersPage.as_view(), name="forum-post-answers"),
    path("app/answers/<id:id>", ScheduledAnswerPage.as_view(), name="forum-answer"),
]
