"""Additional fields in the OpenAPI document."""

from collections.abc import Callable

from core.api.additional_fields import (
    CUSTOM_FIELDS,
    CUSTOM_TYPES,
    AdditionalFieldsField,
    AdditionalFieldsSerializer,
    AnyScalarField,
    FieldTypes,
)
from core.api.fields import MAX_INTEGER, MAX_TEXT_LENGTH, WireField
from core.openapi.fields import (
    BLANK,
    DECIMAL_RANGE,
    NON_XML_CHARACTERS,
    XML_TEXT,
    WireFieldExtension,
    describe_field,
    nullable,
)
from core.openapi.values import JSONSchema
from core.rows.additional_fields import MAX_FIELDS

INTEGER = {"type": "integer", "minimum": -MAX_INTEGER, "maximum": MAX_INTEGER}
TEXT_OR_BOOLEAN = {"type": ["string", "boolean"], "maxLength": MAX_TEXT_LENGTH, **XML_TEXT}
describe_field(
    AnyScalarField,
    request={"anyOf": [TEXT_OR_BOOLEAN, INTEGER, DECIMAL_RANGE]},
    response={"type": ["string", "number", "boolean"]},
)


class AdditionalFieldsExtension(WireFieldExtension):
    """The schema of additional fields. A typed key has the schema of its field, any other key has the schema of a scalar."""

    target_class = AdditionalFieldsField

    def request_schema(self) -> JSONSchema:
        return {**self.object_schema("request"), "maxProperties": MAX_FIELDS}

    def response_schema(self) -> JSONSchema:
        return self.object_schema("response")

    def object_schema(self, direction: str) -> JSONSchema:
        name = rf"^[^{NON_XML_CHARACTERS}]{{0,{AdditionalFieldsField.MAX_KEY_LENGTH}}}$"
        return {
            "type": "object",
            "propertyNames": {"pattern": name, "not": {"pattern": BLANK}},
            **typed_schemas(self.target.typed, direction),
            "additionalProperties": schema_of(AnyScalarField, direction),
        }


def schema_of(make: Callable[[], WireField], direction: str) -> JSONSchema:
    """Return the schema of a typed field, which may be null in requests."""
    extension = WireFieldExtension.find_for(make())
    return nullable(extension.request_schema()) if direction == "request" else extension.response_schema()


def typed_schemas(typed: FieldTypes, direction: str) -> JSONSchema:
    """Return the schema keywords of typed fields: a pattern for each type of custom fields, and the names of the other typed fields."""
    properties = {name: schema_of(make, direction) for name, make in typed.items() if name not in CUSTOM_FIELDS}
    patterns = {f"^{name}([1-9]|10)$": schema_of(make, direction) for name, make in CUSTOM_TYPES.items()}
    return {"properties": properties, "patternProperties": patterns}


def add_typed_fields(schema: JSONSchema, serializer: type[AdditionalFieldsSerializer], direction: str) -> JSONSchema:
    """Return the schema of a resource with its typed fields. Responses have only those that are set."""
    typed = typed_schemas(serializer.typed, direction)
    properties = {name: field for name, field in schema["properties"].items() if name not in serializer.typed}
    return {**schema, **typed, "properties": {**properties, **typed["properties"]}}
