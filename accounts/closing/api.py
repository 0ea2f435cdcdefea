"""The deletion of the account of the request, for owners. It also answers while the account is closed."""

from typing import Any

from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from rest_framework.response import Response

from accounts.account.models import Account
from accounts.hosts.api import APIRequest, TypedViewSet
from accounts.roles.permissions import IsOwner
from core.api.fields import TextField
from core.api.serializers import ResourceSerializer
from core.api.views import JSONViewSet
from core.db.transactions import transactional
from core.errors import FieldError
from core.openapi.operations import BODIES, RESPONSES
from core.openapi.values import NAME, TIME, object_of, or_null


class AccountDeletionSerializer(ResourceSerializer):
    prefix = TextField(required=True, max_length=63)


class DeletionViewSet(TypedViewSet, JSONViewSet):
    areas = ("settings",)
    permission_classes = [IsOwner]
    body_keys: tuple[str, ...] = ("deletion",)
    works_when_closed = True

    def retrieve(self, request: APIRequest) -> HttpResponse:
        return Response(self.represent(self.account))

    @transactional
    def create(self, request: APIRequest) -> HttpResponse:
        serializer = AccountDeletionSerializer(data=self.body.get("deletion"), context=self.get_serializer_context())
        self.check(deletion=serializer)
        if serializer.values["prefix"] != self.account.prefix:
            raise FieldError("prefix", _("is not the prefix of this account"))
        self.account.ask_deletion()
        return Response(self.represent(self.account))

    @transactional
    def destroy(self, request: APIRequest) -> HttpResponse:
        self.check()
        self.account.cancel_deletion()
        return Response(self.represent(self.account))

    def represent(self, row: Account) -> dict[str, Any]:
        times = {name: getattr(row, name) for name in ("suspended_at", "deletion_at")}
        shown = {
            name: value and value.astimezone(row.zone).isoformat(timespec="seconds") for name, value in times.items()
        }
        return {**shown, "suspended_reason": row.suspended_reason}


for _operation in ("read_deletion", "ask_deletion", "cancel_deletion"):
    RESPONSES[_operation] = object_of(suspended_at=or_null(TIME), deletion_at=or_null(TIME), suspended_reason=NAME)
BODIES["ask_deletion"] = {"deletion": AccountDeletionSerializer}
