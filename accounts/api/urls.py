from django.urls import path

from accounts.access.api import GroupViewSet
from accounts.account_creation.api import NewAccountViewSet
from accounts.statuses.api.pipelines import PipelineViewSet
from accounts.statuses.api.statuses import StatusViewSet
from accounts.trash.api import TrashViewSet
from accounts.users.api import UserViewSet
from core.api.changes import ChangeViewSet
from core.api.routing import CREATE, ITEM

urlpatterns = [
    path(
        "app/account.json",
        NewAccountViewSet.as_view({"get": "retrieve", "post": "create", "put": "update", "patch": "update"}),
        name="accounts-json-account",
    ),
    path("app/statuses.json", StatusViewSet.as_view({"get": "list"} | CREATE), name="accounts-json-statuses"),
    path("app/statuses/<id:id>.json", StatusViewSet.as_view(ITEM), name="accounts-json-status"),
    path("app/pipelines.json", PipelineViewSet.as_view({"get": "list"} | CREATE), name="accounts-json-pipelines"),
    path("app/pipelines/<id:id>.json", PipelineViewSet.as_view(ITEM), name="accounts-json-pipeline"),
    path("app/users.json", UserViewSet.as_view({"get": "list"}), name="accounts-json-users"),
    path(
        "app/users/<id:id>.json",
        UserViewSet.as_view({"get": "retrieve", "put": "update", "patch": "update"}),
        name="accounts-json-user",
    ),
    path(
        "app/users/<id:id>/sessions.json",
        UserViewSet.as_view({"delete": "end_sessions"}),
        name="accounts-json-user-sessions",
    ),
    path("app/groups.json", GroupViewSet.as_view({"get": "list"} | CREATE), name="accounts-json-groups"),
    path("app/groups/<id:id>.json", GroupViewSet.as_view(ITEM), name="accounts-json-group"),
    path("app/trash.json", TrashViewSet.as_view({"get": "list"}), name="accounts-json-trash"),
    path(
        "app/trash/<id:id>/restore.json", TrashViewSet.as_view({"post": "restore"}), name="accounts-json-trash-restore"
    ),
    path("app/changes.json", ChangeViewSet.as_view({"get": "list"}), name="accounts-json-changes"),
]
