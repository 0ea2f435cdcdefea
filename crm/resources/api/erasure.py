"""The erasure of clients and contacts in the Account API."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from rest_framework.request import Request

from accounts.erasure.api import RECEIPT, read_flag, receipt_response
from accounts.erasure.erasing import Receipt, erase_row
from core.db.tenancy import rows_of
from core.db.transactions import in_transaction
from core.openapi.operations import QUERY_PARAMETERS, RESPONSES
from core.openapi.values import BOOLEAN, JSONSchema
from crm.resources.api.views import ExternallyIdentifiedViewSet


class ErasableViewSet(ExternallyIdentifiedViewSet):
    """The base of the views of resources about people, of which admins erase a row at once, also one in the trash."""

    def destroy(self, request: Request, id: int) -> HttpResponse:
        if not read_flag(self, "erase"):
            return super().destroy(request, id)

        def act() -> Receipt:
            rows: Any = rows_of(self.account, self.model)
            row = get_object_or_404(rows.limited_to(self.access).locked(), id=id)
            row.account = self.account
            return erase_row(row, by=self.request.user)

        return receipt_response(in_transaction(act))


def describe_erasure(key: str) -> None:
    """Add the schemas of the erasure of a resource."""
    response: JSONSchema = {"anyOf": [{"const": "ok"}, RECEIPT]}
    QUERY_PARAMETERS[f"delete_{key}"], RESPONSES[f"delete_{key}"] = {"erase": BOOLEAN}, response
