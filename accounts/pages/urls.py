from django.urls import path

from accounts.access import pages as access
from accounts.account import pages as account
from accounts.examples import pages as example_pages
from accounts.hosts.pages import domain_file
from accounts.profile import pages as profile
from accounts.reference import pages as reference
from accounts.sign_in.pages import code as sign_in_code
from accounts.sign_in.pages import handover, password_reset, registration, sign_in
from accounts.statuses.pages import deals as deal_settings
from accounts.statuses.pages import statuses
from accounts.tokens import pages as tokens
from accounts.trash import pages as trash
from accounts.users import pages as users

urlpatterns = [
    path("app/sign-in", sign_in.SignIn.as_view(), name="accounts-sign-in"),
    path("app/sign-in/code", sign_in_code.SignInWithCode.as_view(), name="accounts-sign-in-code"),
    path("app/sign-in/code/enter", sign_in_code.EnterCode.as_view(), name="accounts-sign-in-code-enter"),
    path("app/handover", handover.StartHandover.as_view(), name="accounts-handover"),
    path("app/handover/begin", handover.BeginHandover.as_view(), name="accounts-handover-begin"),
    path("app/handover/approve", handover.ApproveHandover.as_view(), name="accounts-handover-approve"),
    path("app/handover/finish", handover.FinishHandover.as_view(), name="accounts-handover-finish"),
    path(".well-known/rostrum-domain", domain_file, name="accounts-domain-file"),
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
    path("app/account/api", example_pages.APIPage.as_view(), name="accounts-tokens"),
    path("app/account/api/tokens/<id:id>/revoke", tokens.RevokeToken.as_view(), name="accounts-token-revoke"),
    path("app/account/api/<slug:section>", example_pages.Examples.as_view(), name="accounts-examples"),
    path("app/logo/<slug:key>.png", account.LogoPage.as_view(), name="accounts-logo"),
    path("app/account", account.AccountPage.as_view(), name="accounts-account"),
    path("app/account/users", users.UsersPage.as_view(), name="accounts-users"),
    path("app/account/users/<id:id>", users.UserPage.as_view(), name="accounts-user"),
    path("app/account/statuses", statuses.StatusesPage.as_view(), name="accounts-statuses"),
    path("app/account/statuses/<id:id>", statuses.StatusPage.as_view(), name="accounts-status"),
    path("app/account/deals", deal_settings.DealSettingsPage.as_view(), name="accounts-deals"),
    path("app/account/pipelines/<id:id>", deal_settings.PipelinePage.as_view(), name="accounts-pipeline"),
    path("app/account/access", access.AccessPage.as_view(), name="accounts-access"),
    path("app/account/groups/<id:id>", access.GroupPage.as_view(), name="accounts-group"),
    path("app/docs", reference.Overview.as_view(), name="accounts-docs"),
    path("app/docs/<slug:slug>", reference.Reference.as_view(), name="accounts-docs-page"),
    path("app/account/trash", trash.TrashPage.as_view(), name="accounts-trash"),
]
