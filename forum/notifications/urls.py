from django.urls import path

from core.api.routing import LIST
from forum.notifications.api import NotificationViewSet
from forum.notifications.pages import NotificationsPage, UnsubscribePage

view = NotificationViewSet.as_view

urlpatterns = [
    path("app/notifications.json", view(LIST), name="forum-json-notifications"),
    path("app/notifications/read.json", view({"post": "read_all"}), name="forum-json-notifications-read"),
    path("app/notifications/<id:id>/read.json", view({"post": "read"}), name="forum-json-notification-read"),
    path("app/notifications", NotificationsPage.as_view(), name="forum-notifications"),
    path("app/unsubscribe", UnsubscribePage.as_view(), name="forum-unsubscribe"),
]
