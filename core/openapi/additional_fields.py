"""Additional fields in the OpenAPI document."""

from collections.abc import Callable
from typing import Any

from django.db.models import Model

from core.api.additional_fields import (
    CUSTOM_FIELDS,
    CUSTOM_TYPES,
    AdditionalFields,
    AdditionalFieldsSerializer,
    AnyScalar,
    FieldTypes,
)
from core.api.fields import TEXT_LENGTH, Exact, Integer
from core.db.additional_fields import MAX_FIELDS
from core.openapi.fields import BLANK, CARRIABLE, UNCARRIABLE, JSONSchema, WireFieldExtension, nullable
from core.openapi.operations import Shape

# How a number without a type is read.
NUMBERS = {"integer": Integer, "number": Exact}


class AnyScalarExtension(WireFieldExtension):
    target_class = AnyScalar

    def accepted(self) -> JSONSchema:
        numbers = [{**WireFieldExtension.get_match(make()).asked(), "type": kind} for kind, make in NUMBERS.items()]
        other = {"type": ["string", "boolean"], "maxLength": TEXT_LENGTH, **CARRIABLE}
        return {"anyOf": [other, *numbers]}

    def answered(self) -> JSONSchema:
        return {"type": ["string", "number", "boolean"]}


class AdditionalFieldsExtension(WireFieldExtension):
    """Keys with a type are described by it; any other key holds a text, a number, true or false."""

    target_class = AdditionalFields

    def accepted(self) -> JSONSchema:
        other = nullable(AnyScalarExtension(AnyScalar()).accepted())
        return self.described(accepted(self.target.typed), other) | {"maxProperties": MAX_FIELDS}

    def answered(self) -> JSONSchema:
        return self.described(answered(self.target.typed), AnyScalarExtension(AnyScalar()).answered())

    def described(self, typed: JSONSchema, other: JSONSchema) -> JSONSchema:
        name = rf"^[^{UNCARRIABLE}]{{0,{AdditionalFields.KEY_LENGTH}}}$"
        return {
            "type": "object",
            "propertyNames": {"pattern": name, "not": {"pattern": BLANK}},
            **typed,
            "additionalProperties": other,
        }


def accepted(typed: FieldTypes) -> JSONSchema:
    return _by_name(typed, lambda make: nullable(WireFieldExtension.get_match(make()).accepted()))


def answered(typed: FieldTypes) -> JSONSchema:
    return _by_name(typed, lambda make: WireFieldExtension.get_match(make()).answered())


def _by_name(typed: FieldTypes, schema_of: Callable[[Any], JSONSchema]) -> JSONSchema:
    """The keywords that describe typed fields: custom fields by a pattern for each type, the others by their names."""
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
    """Return the shape of a resource with additional fields. Its typed ones are answered when they are set."""

    def typed_input(schema: JSONSchema, partial: bool) -> JSONSchema:
        own = {name: field for name, field in schema["properties"].items() if name not in serializer.typed}
        return refine_input(_extended(schema, own, accepted(serializer.typed)), partial)

    def typed_output(schema: JSONSchema) -> JSONSchema:
        return _extended(schema, schema["properties"], answered(serializer.typed))

    return Shape(model, nullable=nullable, refine_input=typed_input, refine_output=typed_output)


def _extended(schema: JSONSchema, properties: JSONSchema, typed: JSONSchema) -> JSONSchema:
    return {**schema, **typed, "properties": {**properties, **typed["properties"]}}
