from django.urls import path

from accounts.trash.api import TrashViewSet
from accounts.trash.pages import TrashPage

restore = TrashViewSet.as_view({"post": "restore"})

urlpatterns = [
    path("app/trash.json", TrashViewSet.as_view({"get": "list"}), name="accounts-json-trash"),
    path("app/trash/<id:id>/restore.json", restore, name="accounts-json-trash-restore"),
    path("app/account/trash", TrashPage.as_view(), name="accounts-trash"),
]
