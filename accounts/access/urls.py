from django.urls import path

from accounts.access.api import GroupViewSet
from accounts.access.pages import AccessPage, GroupPage
from core.api.routing import CREATE, ITEM, LIST

urlpatterns = [
    path("app/groups.json", GroupViewSet.as_view(LIST | CREATE), name="accounts-json-groups"),
    path("app/groups/<id:id>.json", GroupViewSet.as_view(ITEM), name="accounts-json-group"),
    path("app/account/access", AccessPage.as_view(), name="accounts-access"),
    path("app/account/groups/<id:id>", GroupPage.as_view(), name="accounts-group"),
]
