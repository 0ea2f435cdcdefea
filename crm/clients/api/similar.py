"""Clients and contacts that are similar to one that a program is about to create, in the Account API (JSON)."""

from django.http import HttpResponse
from rest_framework.response import Response

from accounts.account.models import Account
from accounts.hosts.api import APIRequest
from accounts.roles.permissions import IsTeam
from core.api.fields import TextField
from core.api.serializers import WireSerializer
from core.api.views import JSONViewSet
from core.errors import FieldErrors
from crm.clients.similar import find_similar


class SimilarSerializer(WireSerializer):
    """The parameters of the search: values of the new client or contact."""

    name = TextField()
    email = TextField()
    tax_no = TextField()


class SimilarViewSet(JSONViewSet):
    account: Account
    request: APIRequest

    permission_classes = [IsTeam]

    def retrieve(self, request: APIRequest) -> HttpResponse:
        """Return the similar rows, the strongest reason first. Nothing is similar to a request without values."""
        parameter_errors = self.ignore_parameters(("name", "email", "tax_no"))
        serializer = SimilarSerializer(data=self.parameters.dict())
        errors = {error.field: error for error in serializer.find_errors()} | parameter_errors
        if errors:
            raise FieldErrors(errors.values())
        values = {name: value for name, value in serializer.values.items() if value}
        found = find_similar(self.account, request.user, **values)
        return Response(
            [
                {
                    "resource": row.kind,
                    "id": row.id,
                    "name": row.name,
                    "email": row.email,
                    "reason": row.reason.value,
                }
                for row in found
            ]
        )
