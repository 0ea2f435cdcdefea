"""JSON schemas that several operations share."""

from collections.abc import Iterable
from typing import Any

JSONSchema = dict[str, Any]

ROW_ID: JSONSchema = {"type": "integer", "minimum": 1}
# An id in a path or a query.
ID_PARAMETER: JSONSchema = {"type": "integer", "minimum": 1, "maximum": 10**18 - 1}
# An id in a query, or 0 for none.
ID_OR_ZERO: JSONSchema = {**ID_PARAMETER, "minimum": 0}
ID: JSONSchema = {"type": "integer"}
NAME: JSONSchema = {"type": "string"}
NUMBER: JSONSchema = {"type": "number"}
COUNT: JSONSchema = {"type": "integer", "minimum": 0}
BOOLEAN: JSONSchema = {"type": "boolean"}
DATE: JSONSchema = {"type": "string", "format": "date"}
TIME: JSONSchema = {"type": "string", "format": "date-time"}
# Base64 with its padding (RFC 4648).
BASE64_PATTERN = "([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"


def object_of(properties: dict[str, JSONSchema] | None = None, /, **more: JSONSchema) -> JSONSchema:
    """Return the schema of an object that has all of these properties, and no others."""
    properties = {**(properties or {}), **more}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def array_of(items: JSONSchema, **limits: int) -> JSONSchema:
    return {"type": "array", "items": items, **limits}


def one_of(values: Iterable[str]) -> JSONSchema:
    return {"type": "string", "enum": [*values]}


def required_fields(names: Iterable[str], value: JSONSchema, *others: str) -> list[JSONSchema]:
    """Return alternatives of an object: each requires one of the names and the others, with values of the schema."""
    return [{"required": [*others, name], "properties": dict.fromkeys((*others, name), value)} for name in names]


def or_null(schema: JSONSchema) -> JSONSchema:
    return {**schema, "type": [schema["type"], "null"]}
