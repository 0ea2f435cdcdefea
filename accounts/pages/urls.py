from django.urls import path

from accounts.pages import sign_in, statuses, trash, users
from accounts.pages.settings import AccountPage

urlpatterns = [
    path("app/sign-in", sign_in.SignIn.as_view()),
    path("app/sign-out", sign_in.SignOut.as_view()),
    path("app/language", sign_in.Language.as_view()),
    path("app/account", AccountPage.as_view()),
    path("app/account/users", users.UsersPage.as_view()),
    path("app/account/users/<id:id>", users.UserPage.as_view()),
    path("app/account/statuses", statuses.StatusesPage.as_view()),
    path("app/account/statuses/<id:id>", statuses.StatusPage.as_view()),
    path("app/account/trash", trash.TrashPage.as_view()),
]
