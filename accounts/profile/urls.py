from django.urls import path

from accounts.profile.pages import AnswerName, ConfirmEmail, EndSession, Profile, Security

urlpatterns = [
    path("app/profile", Profile.as_view(), name="accounts-profile"),
    path("app/profile/security", Security.as_view(), name="accounts-security"),
    path("app/profile/sessions", EndSession.as_view(), name="accounts-sessions"),
    path("app/profile/name", AnswerName.as_view(), name="accounts-name"),
    path("app/profile/email", ConfirmEmail.as_view(), name="accounts-email-confirm"),
]
