"""The schemas of external ids, derived names and bulk creates in the OpenAPI document."""

from typing import cast

from accounts.tags.api import TAGS
from core.api.fields import MAX_NAME_LENGTH
from core.openapi.components import API_TOKEN, error_schema
from core.openapi.fields import NOT_BLANK, XML_TEXT, TextExtension, describe_field
from core.openapi.operations import BODIES, QUERY_PARAMETERS, RESPONSES
from core.openapi.schema import JSONOperationSchema
from core.openapi.values import NAME, JSONSchema, array_of, object_of, required_fields
from crm.resources.api.fields import DerivedName, ExternalIds
from crm.resources.api.filters import ExternalIdPairs
from crm.resources.api.views import BulkViewSet
from crm.resources.external_ids import MAX_EXTERNAL_IDS

VALUE = {"type": "string", "minLength": 1, "maxLength": MAX_NAME_LENGTH}
EXTERNAL_IDS = {
    "type": "object",
    "propertyNames": {"pattern": f"^{ExternalIds.KEY.pattern}$"},
    "additionalProperties": VALUE,
}
EXTERNAL_ID_PAIRS = {**EXTERNAL_IDS, "additionalProperties": {**VALUE, **NOT_BLANK}, "maxProperties": MAX_EXTERNAL_IDS}
describe_field(
    ExternalIds,
    request={
        **EXTERNAL_ID_PAIRS,
        "additionalProperties": {**VALUE, "type": ["string", "number", "null"], **NOT_BLANK},
    },
    response=EXTERNAL_IDS,
)
describe_field(ExternalIdPairs, request=EXTERNAL_ID_PAIRS)


class DerivedNameExtension(TextExtension):
    """The schema of a name. A blank name is derived from other fields."""

    target_class = DerivedName

    def request_schema(self) -> JSONSchema:
        return {"type": ["string", "number", "null"], "maxLength": self.target.max_length, **XML_TEXT}


# A rule between fields: a name, or a field that the name is derived from.
NAMES = required_fields(("name", "first_name", "last_name", "email"), {"type": ["string", "number"], **NOT_BLANK})


def describe_operations(key: str) -> None:
    """Add the schemas of the operations of a resource with external ids, tags and bulk creates."""
    QUERY_PARAMETERS[f"put_{key}_by_external_id"] = {"external_ids": {**EXTERNAL_ID_PAIRS, "minProperties": 1}}
    RESPONSES[f"list_{key}_tags"] = TAGS
    BODIES[f"create_{key}s"], RESPONSES[f"create_{key}s"] = bulk_body, bulk_response


def bulk_body(schema: JSONOperationSchema) -> JSONSchema:
    """Return the schema of a bulk create. An item may be any JSON value, because each item has a result of its own."""
    view = cast(BulkViewSet, schema.view)
    items = {"anyOf": [schema.input_component(view.serializer_class), {}]}
    properties: JSONSchema = {"api_token": API_TOKEN, f"{view.key}s": array_of(items, maxItems=view.MAX_BULK_ITEMS)}
    properties |= {name: {"description": "Allowed here as in each item."} for name in view.body_keys}
    return {"type": "object", "properties": properties, "required": [f"{view.key}s"], "additionalProperties": True}


def bulk_response(schema: JSONOperationSchema, status: int) -> JSONSchema:
    """Return the schema of the results of a bulk create."""
    row = schema.output_component(schema.view.serializer_class)
    written = object_of({"status": {"enum": [201, 200]}, schema.view.key: row})
    pending = {**array_of(NAME), "description": "As in the header X-Pending-Links, for this item."}
    written["properties"] = {**written["properties"], "pending_links": pending}
    return array_of({"anyOf": [written, error_schema(422, status={"const": 422})]})
