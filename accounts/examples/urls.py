from django.urls import path

from accounts.examples.pages import APIPage, Examples

urlpatterns = [
    path("app/account/api", APIPage.as_view(), name="accounts-tokens"),
    path("app/account/api/<slug:section>", Examples.as_view(), name="accounts-examples"),
]
