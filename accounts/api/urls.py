from django.urls import path

from accounts.api.account import AccountViewSet
from accounts.api.statuses import StatusViewSet
from accounts.api.trash import TrashViewSet
from accounts.api.users import UserViewSet
from core.api.changes import ChangeViewSet
from core.api.routing import RESOURCE, RESOURCE_ITEM

urlpatterns = [
    path("app/account.json", AccountViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("app/statuses.json", StatusViewSet.as_view({"get": "list"} | RESOURCE)),
    path("app/statuses/<id:id>.json", StatusViewSet.as_view(RESOURCE_ITEM)),
    path("app/users.json", UserViewSet.as_view({"get": "list"})),
    path("app/trash.json", TrashViewSet.as_view({"get": "list"})),
    path("app/trash/<id:id>/restore.json", TrashViewSet.as_view({"post": "restore"})),
    path("app/changes.json", ChangeViewSet.as_view({"get": "list"})),
]
