from django.urls import path

from accounts.account_creation.api import NewAccountViewSet

urlpatterns = [
    path(
        "app/account.json",
        NewAccountViewSet.as_view({"get": "retrieve", "post": "create", "put": "update", "patch": "update"}),
        name="accounts-json-account",
    )
]
