"""The schemas of the CRM in the OpenAPI document, as far as views and serializers do not tell them."""

from typing import cast

from accounts.openapi import TAGS
from core.api.fields import MAX_NAME_LENGTH
from core.api.serializers import declared_fields
from core.openapi.components import API_TOKEN, error_schema
from core.openapi.fields import (
    NON_XML_CHARACTERS,
    NOT_BLANK,
    WHITE_SPACE,
    XML_TEXT,
    TextExtension,
    WireFieldExtension,
    describe_field,
)
from core.openapi.operations import BODIES, LIMITS, QUERY_PARAMETERS, RESPONSES, SHAPES, Shape
from core.openapi.schema import JSONOperationSchema, field_parameters
from core.openapi.values import (
    BOOLEAN,
    COUNT,
    ID,
    NAME,
    ROW_ID,
    TIME,
    JSONSchema,
    array_of,
    object_of,
    one_of,
    or_null,
    required_fields,
)
from crm.api.clients import ClientSerializer
from crm.api.contacts import ContactSerializer
from crm.api.deals import NestedClient, NestedClientSerializer
from crm.api.field_definitions import MAX_COMPARED_ROWS, ChoicesField, FieldDefinitionSerializer, KeyField
from crm.api.fields import DerivedName, ExternalIds
from crm.api.filters import ExternalIdPairs
from crm.api.notes import IdListField
from crm.api.similar import SimilarSerializer
from crm.api.user_links import UserLinkSerializer
from crm.api.views import BulkViewSet
from crm.external_ids import MAX_EXTERNAL_IDS
from crm.field_definitions import MAX_CHOICES, MAX_DEFINITIONS
from crm.similar import MAX_SHOWN, Reason

LIMITS |= {"MAX_DEFINITIONS": MAX_DEFINITIONS, "MAX_COMPARED_ROWS": MAX_COMPARED_ROWS, "MAX_SIMILAR": 2 * MAX_SHOWN}

# Fields

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
describe_field(IdListField, response=array_of(ID))
describe_field(
    ChoicesField,
    request=array_of(
        {"type": ["string", "number"], "maxLength": ChoicesField.MAX_LENGTH, **XML_TEXT}, maxItems=MAX_CHOICES
    ),
    response=array_of({"type": "string", "minLength": 1, "maxLength": ChoicesField.MAX_LENGTH}, maxItems=MAX_CHOICES),
)


class DerivedNameExtension(TextExtension):
    """The schema of a name. A blank name is derived from other fields."""

    target_class = DerivedName

    def request_schema(self) -> JSONSchema:
        return {"type": ["string", "number", "null"], "maxLength": self.target.max_length, **XML_TEXT}


class KeyExtension(TextExtension):
    """The schema of the key of a defined field. A blank key is made from the label."""

    target_class = KeyField

    def request_schema(self) -> JSONSchema:
        # The key neither begins nor ends with these characters.
        other = NON_XML_CHARACTERS + WHITE_SPACE
        pattern = rf"^([^\[\]{other}]([^\[\]{NON_XML_CHARACTERS}]*[^\[\]{other}])?)?$"
        return {"type": "string", "maxLength": self.target.max_length, "pattern": pattern}


class NestedClientExtension(WireFieldExtension):
    target_class = NestedClient

    def request_schema(self) -> JSONSchema:
        fields = declared_fields(NestedClientSerializer).items()
        properties = {
            name: WireFieldExtension.of(field).map_serializer_field(None, "request")
            for name, field in fields
            if not field.read_only
        }
        return {"type": "object", "properties": properties, "additionalProperties": True}


# Rules between fields


# A name, or a field that the name is derived from.
NAMES = required_fields(("name", "first_name", "last_name", "email"), {"type": ["string", "number"], **NOT_BLANK})
# A user, and either a client or a contact.
TARGETS = required_fields(("client_id", "contact_id"), {"type": ["integer", "string"], **NOT_BLANK}, "user_id")
SHAPES[ClientSerializer] = SHAPES[ContactSerializer] = Shape(rules={"required": None, "anyOf": NAMES})
SHAPES[UserLinkSerializer] = Shape(rules={"oneOf": TARGETS})
SHAPES[FieldDefinitionSerializer] = Shape(computed=frozenset({"key", "position"}))

# Operations

SIMILAR = object_of(
    resource=one_of(["client", "contact"]), id=ROW_ID, name=NAME, email=or_null(NAME), reason=one_of(Reason)
)
QUERY_PARAMETERS["find_similar"] = field_parameters(declared_fields(SimilarSerializer))
RESPONSES["find_similar"] = array_of(SIMILAR, maxItems=2 * MAX_SHOWN)
RESPONSES["count_misfits"] = object_of(count=COUNT, compared=COUNT, complete=BOOLEAN)
RESPONSES["list_stages"] = array_of(
    object_of(status_id=or_null(ID), entered_at=TIME, left_at=or_null(TIME), user_id=ID)
)


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


for key in ("client", "contact", "deal"):
    QUERY_PARAMETERS[f"put_{key}_by_external_id"] = {"external_ids": {**EXTERNAL_ID_PAIRS, "minProperties": 1}}
    RESPONSES[f"list_{key}_tags"] = TAGS
    BODIES[f"create_{key}s"], RESPONSES[f"create_{key}s"] = bulk_body, bulk_response
