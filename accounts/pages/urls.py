from django.urls import path

from accounts.pages import examples, joining, password, profile, sign_in, statuses, tokens, trash, users
from accounts.pages.settings import AccountPage

urlpatterns = [
    path("app/sign-in", sign_in.SignIn.as_view()),
    path("app/sign-out", sign_in.SignOut.as_view()),
    path("app/language", sign_in.Language.as_view()),
    path("app/sign-up", joining.SignUp.as_view()),
    path("app/sign-up/sent", joining.SignUpSent.as_view()),
    path("app/sign-up/finish", joining.SignUpFinish.as_view()),
    path("app/invitation", joining.AcceptInvitation.as_view()),
    path("app/password", password.Forgotten.as_view()),
    path("app/password/sent", password.ForgottenSent.as_view()),
    path("app/password/new", password.Renewed.as_view()),
    path("app/profile", profile.Profile.as_view()),
    path("app/profile/security", profile.Security.as_view()),
    path("app/profile/sessions", profile.EndSession.as_view()),
    path("app/profile/email", profile.ConfirmEmail.as_view()),
    path("app/account/api", tokens.API.as_view()),
    path("app/account/api/tokens/<id:id>/revoke", tokens.RevokeToken.as_view()),
    path("app/account/api/<slug:section>", examples.Examples.as_view()),
    path("app/account", AccountPage.as_view()),
    path("app/account/users", users.UsersPage.as_view()),
    path("app/account/users/<id:id>", users.UserPage.as_view()),
    path("app/account/statuses", statuses.StatusesPage.as_view()),
    path("app/account/statuses/<id:id>", statuses.StatusPage.as_view()),
    path("app/account/trash", trash.TrashPage.as_view()),
]
