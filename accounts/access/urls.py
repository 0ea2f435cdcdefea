from django.urls import path

from accounts.access.pages import AccessPage, GroupPage

urlpatterns = [
    path("app/account/access", AccessPage.as_view(), name="accounts-access"),
    path("app/account/groups/<id:id>", GroupPage.as_view(), name="accounts-group"),
]
