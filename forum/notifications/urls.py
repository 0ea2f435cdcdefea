from django.urls import path

from core.api.routing import LIST
from forum.notifications.api import NotificationViewSet
from forum.notifications.pages import NotificationsPage, UnsubscribePage

urlpatterns = [
    path("app/notifications.json", NotificationViewSet.as_view(LIST), name="forum-json-notifications"),
    path(
        "app/notifications/read.json",
        NotificationViewSet.as_view({"post": "read_all"}),
        name="forum-json-notifications-read",
    ),
    path(
        "app/notifications/<id:id>/read.json",
        NotificationViewSet.as_view({"post": "read"}),
        name="forum-json-notification-read",
    ),
    path("app/notifications", NotificationsPage.as_view(), name="forum-notifications"),
    path("app/unsubscribe", UnsubscribePage.as_view(), name="forum-unsubscribe"),
]
