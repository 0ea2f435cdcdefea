"""The audit log in the Account API (JSON)."""

from typing import Any

from django.http import HttpResponse
from rest_framework.response import Response

from accounts.audit.actions import GROUPS
from accounts.audit.models import AuditEntry
from accounts.audit.origin import Interface
from accounts.hosts.api import APIRequest, TypedViewSet
from accounts.roles.permissions import IsOwner
from core.api.fields import ChoiceField, IntegerField, TextField
from core.api.filters import QueryDateTimeField
from core.api.serializers import WireSerializer, declared_fields, format_time
from core.api.views import JSONViewSet
from core.errors import FieldErrors
from core.openapi.operations import QUERY_PARAMETERS, RESPONSES
from core.openapi.schema import field_parameters
from core.openapi.values import ID, NAME, TIME, array_of, object_of, one_of, or_null

DEFAULT_LIMIT = 100


class AuditFilterSerializer(WireSerializer):
    actor_id = IntegerField(min_value=1)
    group = ChoiceField(sorted(GROUPS))
    since = QueryDateTimeField()
    until = QueryDateTimeField()
    target = TextField(max_length=255)
    cursor = IntegerField(min_value=1)
    limit = IntegerField(min_value=1, max_value=1000)


class AuditViewSet(TypedViewSet, JSONViewSet):
    """The entries, newest first. `cursor` is the id of the last entry of the previous page."""

    areas = ("settings",)
    permission_classes = [IsOwner]

    def list(self, request: APIRequest) -> HttpResponse:
        names = declared_fields(AuditFilterSerializer)
        parameter_errors = self.ignore_parameters(names)
        serializer = AuditFilterSerializer(data=self.parameters.dict(), context={"account": self.account})
        if errors := {error.field: error for error in serializer.find_errors()} | parameter_errors:
            raise FieldErrors(errors.values())
        filters = {name: value for name, value in serializer.values.items() if value is not None}
        limit, before = filters.pop("limit", DEFAULT_LIMIT), filters.pop("cursor", None)
        rows = list(self.account.audit_entries.all().matching(**filters, before=before)[: limit + 1])
        entries = [self.represent(row) for row in rows[:limit]]
        return Response({"entries": entries, "cursor": rows[limit - 1].id if len(rows) > limit else None})

    def represent(self, row: AuditEntry) -> dict[str, Any]:
        actor = {"kind": row.actor_kind, "id": row.actor_id, "name": row.actor_name, "token": row.token_label}
        return {
            "id": row.id,
            "at": format_time(row.at, self.account.zone),
            "action": row.action,
            "actor": actor,
            "target": {"kind": row.target_kind, "id": row.target_id, "label": row.target_label},
            "details": row.details,
            "address": row.address,
            "agent": row.agent,
            "interface": row.interface,
        }


# The OpenAPI document, as far as views and serializers do not tell it

QUERY_PARAMETERS["list_audit_entries"] = field_parameters(declared_fields(AuditFilterSerializer))
ENTRY = object_of(
    id=ID,
    at=TIME,
    action=NAME,
    actor=object_of(kind=one_of(AuditEntry.Actor.values), id=or_null(ID), name=NAME, token=or_null(NAME)),
    target=object_of(kind=NAME, id=or_null(ID), label=NAME),
    details={"type": "object"},
    address=NAME,
    agent=NAME,
    interface=one_of(Interface.values),
)
RESPONSES["list_audit_entries"] = object_of(entries=array_of(ENTRY), cursor=or_null(ID))
