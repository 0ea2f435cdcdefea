from django.urls import path

from accounts.erasure.api import ErasableUserViewSet
from accounts.erasure.pages import ErasableUserPage, ReceiptPage
from accounts.erasure.person_file import PersonFilePage
from accounts.erasure.personal_data import CUSTOMERS

user = ErasableUserViewSet.as_view({"get": "retrieve", "put": "update", "patch": "update", "delete": "destroy"})

# The views of one user are those of `accounts.users`, with their erasure.
urlpatterns = [
    path("app/users/<id:id>.json", user, name="accounts-json-user"),
    path("app/account/users/<id:id>", ErasableUserPage.as_view(), name="accounts-user"),
    path("app/users/<id:id>/data", PersonFilePage.as_view(), name="accounts-user-data"),
    *(
        path(
            f"app/{kind}s/<id:id>/data", PersonFilePage.as_view(kind=kind, access="admin"), name=f"accounts-{kind}-data"
        )
        for kind in CUSTOMERS
    ),
    path("app/erasure", ReceiptPage.as_view(), name="accounts-erasure-receipt"),
]
