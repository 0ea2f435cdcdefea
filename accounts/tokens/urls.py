from django.urls import path

from accounts.tokens.pages import RevokeToken

urlpatterns = [path("app/account/api/tokens/<id:id>/revoke", RevokeToken.as_view(), name="accounts-token-revoke")]
