from django.urls import path

from accounts.account_creation import pages
from accounts.account_creation.api import NewAccountViewSet

account = NewAccountViewSet.as_view({"get": "retrieve", "post": "create", "put": "update", "patch": "update"})

urlpatterns = [
    path("app/account.json", account, name="accounts-json-account"),
    path("app/start", pages.NewAccountPage.as_view(), name="accounts-start"),
    path("app/start/address", pages.AddressPart.as_view(), name="accounts-start-address"),
    path("app/start/code", pages.AccountCodePage.as_view(), name="accounts-start-code"),
    path("app/start/approve", pages.ApproveFirstSignIn.as_view(), name="accounts-start-approve"),
    path("app/account/welcome", pages.WelcomePage.as_view(), name="accounts-welcome"),
]
