from django.urls import path

from accounts.users.api import UserViewSet
from accounts.users.pages import UsersPage
from core.api.routing import LIST

sessions = UserViewSet.as_view({"delete": "end_sessions"})

urlpatterns = [
    path("app/users.json", UserViewSet.as_view(LIST), name="accounts-json-users"),
    path("app/users/<id:id>/sessions.json", sessions, name="accounts-json-user-sessions"),
    path("app/account/users", UsersPage.as_view(), name="accounts-users"),
]
