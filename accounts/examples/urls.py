from django.urls import path

from accounts.examples.pages import APIPage, Examples, NewToken

urlpatterns = [
    path("app/account/api", APIPage.as_view(), name="accounts-tokens"),
    path("app/account/api/tokens/new", NewToken.as_view(), name="accounts-token-new"),
    path("app/account/api/<slug:section>", Examples.as_view(), name="accounts-examples"),
]
