from django.urls import path

from team.tasks.api import CalendarFeedViewSet
from team.tasks.pages.calendar import CalendarPage, FeedView
from team.tasks.pages.edit import EditTaskPage, TaskFormPage
from team.tasks.pages.list import TaskPage, TasksPage

urlpatterns = [
    path("app/tasks", TasksPage.as_view(), name="team-tasks"),
    path("app/tasks/new", TaskFormPage.as_view(), name="team-task-new"),
    path("app/tasks/calendar", CalendarPage.as_view(), name="team-tasks-calendar"),
    path("app/tasks.ics", FeedView.as_view(), name="team-tasks-ics"),
    path("app/tasks/<id:id>", TaskPage.as_view(), name="team-task"),
    path("app/tasks/<id:id>/edit", EditTaskPage.as_view(), name="team-task-edit"),
    path(
        "app/calendar_feed.json",
        CalendarFeedViewSet.as_view({"get": "retrieve", "post": "create", "delete": "destroy"}),
        name="team-json-calendar-feed",
    ),
]
