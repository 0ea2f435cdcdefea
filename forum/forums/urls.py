from django.urls import path

from core.api.routing import CREATE, LIST
from forum.forums.api import ForumMemberViewSet
from forum.forums.pages import settings
from forum.forums.pages.robots import favicon, robots

urlpatterns = [
    path(
        "app/forums/<id:id>/members.json",
        ForumMemberViewSet.as_view(LIST | CREATE | {"delete": "destroy"}),
        name="forum-json-forum-members",
    ),
    path("app/account/forums", settings.ForumsPage.as_view(), name="forum-settings-forums"),
    path("app/account/forums/new", settings.NewForumPage.as_view(), name="forum-settings-forum-new"),
    path("app/account/forums/<id:id>", settings.ForumSettingsPage.as_view(), name="forum-settings-forum"),
    path("app/account/forums/<id:id>/members", settings.MembersPage.as_view(), name="forum-settings-members"),
    path("robots.txt", robots, name="forum-robots"),
    path("favicon.ico", favicon, name="forum-favicon"),
]
