"""The erasure of users in the Account API, and what the views that erase a person share."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _
from rest_framework.response import Response

from accounts.erasure.erasing import Receipt, erase_user
from accounts.hosts.api import APIRequest
from accounts.users.api import UserViewSet
from core.api.fields import BooleanField
from core.db.transactions import in_transaction
from core.errors import FieldError
from core.openapi.operations import QUERY_PARAMETERS, RESPONSES
from core.openapi.values import BOOLEAN, COUNT, ID, NAME, ROW_ID, TIME, JSONSchema, array_of, object_of

COUNTS: JSONSchema = {"type": "object", "additionalProperties": COUNT}
RECEIPT = object_of(
    account_id=ID,
    resource=NAME,
    id=ROW_ID,
    erased_at=TIME,
    erased_by_id=ROW_ID,
    erased=COUNTS,
    kept=COUNTS,
    reported_count=COUNT,
    reported=array_of(object_of(resource=NAME, id=ROW_ID, change=NAME)),
    audit_log_days=COUNT,
    signed=NAME,
)


def read_flag(view: Any, name: str) -> bool:
    """Return the value of a query parameter that is true or false. Raise FieldError for any other text."""
    text = view.parameters.get(name, "").strip().lower()
    value = BooleanField.WORDS.get(text, None if text else False)
    if value is None:
        raise FieldError(name, "is not true or false", "boolean")
    return bool(value)


def receipt_response(receipt: Receipt) -> Response:
    return Response({**receipt.as_dict(), "signed": receipt.signed()})


class ErasableUserViewSet(UserViewSet):
    """One user of the team, and the erasure of any user."""

    def destroy(self, request: APIRequest, id: int) -> HttpResponse:
        def act() -> Receipt:
            user = get_object_or_404(self.account.users.filter(erased_at=None), id=id)
            user.account = self.account
            self.check()
            if user.id == request.user.id:
                raise FieldError("user", _("can't be yourself here: the page of your profile asks you to confirm it"))
            return erase_user(user, by=request.user, deletes_texts=read_flag(self, "texts"))

        return receipt_response(in_transaction(act))


QUERY_PARAMETERS["erase_user"] = {"texts": BOOLEAN}
RESPONSES["erase_user"] = RECEIPT
