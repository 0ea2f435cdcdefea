"""Additional fields in the OpenAPI document."""

from collections.abc import Callable
from typing import Any

from django.db.models import Model

from core.api.additional_fields import (
    CUSTOM_FIELDS,
    CUSTOM_TYPES,
    AdditionalFieldsField,
    AdditionalFieldsSerializer,
    AnyScalarField,
    FieldTypes,
    FloatField,
)
from core.api.fields import MAX_TEXT_LENGTH, IntegerField
from core.db.additional_fields import MAX_FIELDS
from core.openapi.fields import (
    BLANK,
    NON_XML_CHARACTERS,
    XML_TEXT,
    DecimalExtension,
    JSONSchema,
    WireFieldExtension,
    nullable,
)
from core.openapi.operations import Shape

# The fields that read a number, by its JSON type.
NUMBERS = {"integer": IntegerField, "number": FloatField}


class FloatExtension(DecimalExtension):
    target_class = FloatField

    def query_schema(self) -> JSONSchema:
        return {name: limit for name, limit in super().query_schema().items() if name != "multipleOf"}


class AnyScalarExtension(WireFieldExtension):
    target_class = AnyScalarField

    def request_schema(self) -> JSONSchema:
        numbers = [{**WireFieldExtension.of(make()).query_schema(), "type": kind} for kind, make in NUMBERS.items()]
        other = {"type": ["string", "boolean"], "maxLength": MAX_TEXT_LENGTH, **XML_TEXT}
        return {"anyOf": [other, *numbers]}

    def response_schema(self) -> JSONSchema:
        return {"type": ["string", "number", "boolean"]}


class AdditionalFieldsExtension(WireFieldExtension):
    """The schema of additional fields. A typed key has the schema of its field, any other key has the schema of a scalar."""

    target_class = AdditionalFieldsField

    def request_schema(self) -> JSONSchema:
        other = nullable(AnyScalarExtension(AnyScalarField()).request_schema())
        return self.object_schema(request_schema(self.target.typed), other) | {"maxProperties": MAX_FIELDS}

    def response_schema(self) -> JSONSchema:
        return self.object_schema(
            response_schema(self.target.typed), AnyScalarExtension(AnyScalarField()).response_schema()
        )

    def object_schema(self, typed: JSONSchema, other: JSONSchema) -> JSONSchema:
        name = rf"^[^{NON_XML_CHARACTERS}]{{0,{AdditionalFieldsField.MAX_KEY_LENGTH}}}$"
        return {
            "type": "object",
            "propertyNames": {"pattern": name, "not": {"pattern": BLANK}},
            **typed,
            "additionalProperties": other,
        }


def request_schema(typed: FieldTypes) -> JSONSchema:
    return _by_name(typed, lambda make: nullable(WireFieldExtension.of(make()).request_schema()))


def response_schema(typed: FieldTypes) -> JSONSchema:
    return _by_name(typed, lambda make: WireFieldExtension.of(make()).response_schema())


def _by_name(typed: FieldTypes, schema_of: Callable[[Any], JSONSchema]) -> JSONSchema:
    """Return the schema keywords of typed fields: a pattern for each type of custom fields, and the names of the other typed fields."""
    return {
        "properties": {name: schema_of(make) for name, make in typed.items() if name not in CUSTOM_FIELDS},
        "patternProperties": {f"^{name}([1-9]|10)$": schema_of(make) for name, make in CUSTOM_TYPES.items()},
    }


def typed_shape(
    serializer: type[AdditionalFieldsSerializer],
    model: type[Model],
    *,
    refine_input: Callable[[JSONSchema, bool], JSONSchema] = lambda schema, partial: schema,
    nullable: frozenset[str] = frozenset(),
) -> Shape:
    """Return the shape of a resource with additional fields. Responses have only the typed fields that are set."""

    def typed_input(schema: JSONSchema, partial: bool) -> JSONSchema:
        properties = {name: field for name, field in schema["properties"].items() if name not in serializer.typed}
        return refine_input(_extended(schema, properties, request_schema(serializer.typed)), partial)

    def typed_output(schema: JSONSchema) -> JSONSchema:
        return _extended(schema, schema["properties"], response_schema(serializer.typed))

    return Shape(model, nullable=nullable, refine_input=typed_input, refine_output=typed_output)


def _extended(schema: JSONSchema, properties: JSONSchema, typed: JSONSchema) -> JSONSchema:
    return {**schema, **typed, "properties": {**properties, **typed["properties"]}}
