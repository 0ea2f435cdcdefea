"""The trash: the deleted resources, and their restoration."""

from typing import Any

from django.http import Http404, HttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.hosts.api import APIRequest, TypedViewSet
from accounts.roles.permissions import IsAdmin
from core.api.lists import Paged
from core.api.serializers import format_time
from core.api.views import JSONViewSet
from core.db.transactions import transactional
from core.errors import FieldError
from core.openapi.operations import QUERY_PARAMETERS, RESPONSES
from core.openapi.schema import JSONOperationSchema
from core.openapi.values import ID, NAME, TIME, JSONSchema, array_of, object_of, one_of, or_null
from core.registry import registry
from core.rows.trash import Trashable, restore, trash_contents


class TrashViewSet(TypedViewSet, Paged, JSONViewSet):
    permission_classes = [IsAdmin]

    def selected_models(self) -> dict[str, type[Trashable]]:
        """Return the selected models by the key of their resource: the model in the parameter `resource`, or all models."""
        models = dict(sorted(registry.trashable_models().items()))
        key = self.parameters.get("resource", "").strip()
        if key and key not in models:
            raise FieldError("resource", f"is not one of {', '.join(models)}", "choice")
        return {key: models[key]} if key else models

    def list(self, request: Request) -> HttpResponse:
        self.read_page("resource")
        rows = self.paginate_queryset(trash_contents(self.account, self.selected_models(), limit=self.page.stop))
        return self.get_paginated_response([self.represent(row) for row in rows])

    def represent(self, row: dict[str, Any]) -> dict[str, object]:
        return {
            "id": row["id"],
            "resource": row["resource"],
            "name": row["display_name"],
            "trashed_at": format_time(row["trashed_at"], self.account.zone),
            "trashed_by_id": row["trashed_by_id"],
        }

    @transactional
    def restore(self, request: APIRequest, id: int) -> HttpResponse:
        self.check()
        restored = restore(self.account, self.selected_models(), id)
        if restored is None:
            raise Http404
        viewset = registry.trashable()[restored[0]].viewset(request=request)
        return Response(viewset.represent(viewset.find_object(id, locked=False)))


# The schemas of the OpenAPI document, as far as views and serializers do not tell them


def restored_schema(schema: JSONOperationSchema, status: int) -> JSONSchema:
    """Return the schema of a restored resource, which may be of any kind."""
    viewsets = [resource.viewset for _, resource in sorted(registry.trashable().items())]
    return {"oneOf": [schema.output_component(viewset.serializer_class) for viewset in viewsets]}


QUERY_PARAMETERS["list_trash"] = QUERY_PARAMETERS["restore"] = {"resource": one_of(sorted(registry.trashable()))}
TRASHED = object_of(id=ID, resource=NAME, name=NAME, trashed_at=TIME, trashed_by_id=or_null(ID))
RESPONSES["list_trash"] = array_of(TRASHED)
RESPONSES["restore"] = restored_schema
