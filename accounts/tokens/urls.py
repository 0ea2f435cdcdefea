from django.urls import path

from accounts.tokens.api import TokenViewSet
from accounts.tokens.pages import RevokeToken

urlpatterns = [
    path("app/tokens.json", TokenViewSet.as_view({"get": "list"}), name="accounts-json-tokens"),
    path("app/account/api/tokens/<id:id>/revoke", RevokeToken.as_view(), name="accounts-token-revoke"),
]
