from django.urls import path

from accounts.closing.api import DeletionViewSet
from accounts.closing.pages import ClosingPage

deletion = DeletionViewSet.as_view({"get": "retrieve", "post": "create", "delete": "destroy"})

urlpatterns = [
    path("app/account/deletion.json", deletion, name="accounts-json-deletion"),
    path("app/account/closing", ClosingPage.as_view(), name="accounts-closing"),
]
