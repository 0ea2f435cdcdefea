from django.urls import path

from accounts.account_creation.api import NewAccountViewSet

account = NewAccountViewSet.as_view({"get": "retrieve", "post": "create", "put": "update", "patch": "update"})

urlpatterns = [path("app/account.json", account, name="accounts-json-account")]
