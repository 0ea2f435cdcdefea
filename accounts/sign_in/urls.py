from django.urls import path

from accounts.sign_in.emails import PASSWORD
from accounts.sign_in.pages import email_links, handover, sign_in

password_sent = email_links.EmailSent.as_view(purpose=PASSWORD, retry_route="accounts-password")

urlpatterns = [
    path("app/sign-in", sign_in.SignIn.as_view(), name="accounts-sign-in"),
    path("app/sign-in/code", sign_in.SignInWithCode.as_view(), name="accounts-sign-in-code"),
    path("app/sign-in/code/enter", sign_in.EnterCode.as_view(), name="accounts-sign-in-code-enter"),
    path("app/handover", handover.StartHandover.as_view(), name="accounts-handover"),
    path("app/handover/begin", handover.BeginHandover.as_view(), name="accounts-handover-begin"),
    path("app/handover/approve", handover.ApproveHandover.as_view(), name="accounts-handover-approve"),
    path("app/handover/finish", handover.FinishHandover.as_view(), name="accounts-handover-finish"),
    path("app/sign-out", sign_in.SignOut.as_view(), name="accounts-sign-out"),
    path("app/language", sign_in.ChangeLanguage.as_view(), name="accounts-language"),
    path("app/sign-up", email_links.SignUp.as_view(), name="accounts-sign-up"),
    path("app/invitation", email_links.AcceptInvitation.as_view(), name="accounts-invitation"),
    path("app/password", email_links.PasswordReset.as_view(), name="accounts-password"),
    path("app/password/sent", password_sent, name="accounts-password-sent"),
    path("app/password/new", email_links.PasswordResetConfirm.as_view(), name="accounts-password-new"),
]
