from django.urls import path

from accounts.account.pages import AccountPage, LogoPage

urlpatterns = [
    path("app/account", AccountPage.as_view(), name="accounts-account"),
    path("app/logo/<slug:key>.png", LogoPage.as_view(), name="accounts-logo"),
]
