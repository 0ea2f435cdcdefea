from django.urls import path

from accounts.users.api import UserViewSet
from accounts.users.pages import UserPage, UsersPage
from core.api.routing import LIST

user = UserViewSet.as_view({"get": "retrieve", "put": "update", "patch": "update"})
sessions = UserViewSet.as_view({"delete": "end_sessions"})

urlpatterns = [
    path("app/users.json", UserViewSet.as_view(LIST), name="accounts-json-users"),
    path("app/users/<id:id>.json", user, name="accounts-json-user"),
    path("app/users/<id:id>/sessions.json", sessions, name="accounts-json-user-sessions"),
    path("app/account/users", UsersPage.as_view(), name="accounts-users"),
    path("app/account/users/<id:id>", UserPage.as_view(), name="accounts-user"),
]
