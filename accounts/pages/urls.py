from django.urls import path

from accounts.pages import (
    examples,
    handover,
    password_reset,
    profile,
    registration,
    sign_in,
    sign_in_code,
    statuses,
    tokens,
    trash,
    users,
)
from accounts.pages.logo import LogoPage
from accounts.pages.reference import views as reference
from accounts.pages.settings import AccountPage

urlpatterns = [
    path("app/sign-in", sign_in.SignIn.as_view(), name="accounts-sign-in"),
    path("app/sign-in/code", sign_in_code.SignInWithCode.as_view(), name="accounts-sign-in-code"),
    path("app/sign-in/code/enter", sign_in_code.EnterCode.as_view(), name="accounts-sign-in-code-enter"),
    path("app/handover", handover.BeginHandover.as_view(), name="accounts-handover"),
    path("app/handover/approve", handover.ApproveHandover.as_view(), name="accounts-handover-approve"),
    path("app/handover/finish", handover.FinishHandover.as_view(), name="accounts-handover-finish"),
    path("app/sign-out", sign_in.SignOut.as_view(), name="accounts-sign-out"),
    path("app/language", sign_in.ChangeLanguage.as_view(), name="accounts-language"),
    path("app/sign-up", registration.SignUp.as_view(), name="accounts-sign-up"),
    path("app/sign-up/sent", registration.SignUpSent.as_view(), name="accounts-sign-up-sent"),
    path("app/sign-up/finish", registration.SignUpFinish.as_view(), name="accounts-sign-up-finish"),
    path("app/invitation", registration.AcceptInvitation.as_view(), name="accounts-invitation"),
    path("app/password", password_reset.PasswordReset.as_view(), name="accounts-password"),
    path("app/password/sent", password_reset.PasswordResetSent.as_view(), name="accounts-password-sent"),
    path("app/password/new", password_reset.PasswordResetConfirm.as_view(), name="accounts-password-new"),
    path("app/profile", profile.Profile.as_view(), name="accounts-profile"),
    path("app/profile/security", profile.Security.as_view(), name="accounts-security"),
    path("app/profile/sessions", profile.EndSession.as_view(), name="accounts-sessions"),
    path("app/profile/email", profile.ConfirmEmail.as_view(), name="accounts-email-confirm"),
    path("app/account/api", tokens.APIPage.as_view(), name="accounts-tokens"),
    path("app/account/api/tokens/<id:id>/revoke", tokens.RevokeToken.as_view(), name="accounts-token-revoke"),
    path("app/account/api/<slug:section>", examples.Examples.as_view(), name="accounts-examples"),
    path("app/logo/<slug:key>.png", LogoPage.as_view(), name="accounts-logo"),
    path("app/account", AccountPage.as_view(), name="accounts-account"),
    path("app/account/users", users.UsersPage.as_view(), name="accounts-users"),
    path("app/account/users/<id:id>", users.UserPage.as_view(), name="accounts-user"),
    path("app/account/statuses", statuses.StatusesPage.as_view(), name="accounts-statuses"),
    path("app/account/statuses/<id:id>", statuses.StatusPage.as_view(), name="accounts-status"),
    path("app/docs", reference.Overview.as_view(), name="accounts-docs"),
    path("app/docs/<slug:slug>", reference.Reference.as_view(), name="accounts-docs-page"),
    path("app/account/trash", trash.TrashPage.as_view(), name="accounts-trash"),
]
