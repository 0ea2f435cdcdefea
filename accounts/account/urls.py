from django.urls import path

from accounts.account.pages import AccountPage, DataPage

urlpatterns = [
    path("app/account", AccountPage.as_view(), name="accounts-account"),
    path("app/account/data", DataPage.as_view(), name="accounts-data"),
]
