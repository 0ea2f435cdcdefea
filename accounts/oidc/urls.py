from django.urls import path

from accounts.oidc.pages import FinishSSO, OIDCPage, StartSSO

urlpatterns = [
    path("app/sign-in/sso", StartSSO.as_view(), name="accounts-oidc-start"),
    path("app/sign-in/sso/callback", FinishSSO.as_view(), name="accounts-oidc-callback"),
    path("app/account/oidc", OIDCPage.as_view(), name="accounts-oidc"),
]
