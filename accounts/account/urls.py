from django.urls import path

from accounts.account.pages import AccountPage, DataPage, RatesPage

urlpatterns = [
    path("app/account", AccountPage.as_view(), name="accounts-account"),
    path("app/account/data", DataPage.as_view(), name="accounts-data"),
    path("app/account/rates", RatesPage.as_view(), name="accounts-rates"),
]
