from django.urls import path

from accounts.api.account import AccountViewSet

urlpatterns = [
    path("app/account.json", AccountViewSet.as_view({"post": "create"})),
]
