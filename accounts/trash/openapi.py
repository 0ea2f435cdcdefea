"""The schemas of the trash in the OpenAPI document."""

from core.openapi.operations import QUERY_PARAMETERS, RESPONSES
from core.openapi.schema import JSONOperationSchema
from core.openapi.values import ID, NAME, TIME, JSONSchema, array_of, object_of, one_of, or_null
from core.registry import registry


def restored_schema(schema: JSONOperationSchema, status: int) -> JSONSchema:
    """Return the schema of a restored resource, which may be of any kind."""
    viewsets = [resource.viewset for _, resource in sorted(registry.trashable().items())]
    return {"oneOf": [schema.output_component(viewset.serializer_class) for viewset in viewsets]}


QUERY_PARAMETERS["list_trash"] = QUERY_PARAMETERS["restore"] = {"resource": one_of(sorted(registry.trashable()))}
TRASHED = object_of(id=ID, resource=NAME, name=NAME, trashed_at=TIME, trashed_by_id=or_null(ID))
RESPONSES["list_trash"] = array_of(TRASHED)
RESPONSES["restore"] = restored_schema
