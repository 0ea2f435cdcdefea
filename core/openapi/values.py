"""JSON schemas that several operations share."""

from typing import Any

JSONSchema = dict[str, Any]

ROW_ID: JSONSchema = {"type": "integer", "minimum": 1}
NAME: JSONSchema = {"type": "string"}
NUMBER: JSONSchema = {"type": "number"}
COUNT: JSONSchema = {"type": "integer", "minimum": 0}
TIME: JSONSchema = {"type": "string", "format": "date-time"}


def object_of(properties: dict[str, JSONSchema] | None = None, /, **more: JSONSchema) -> JSONSchema:
    """Return the schema of an object that has all of these properties, and no others."""
    properties = {**(properties or {}), **more}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def or_null(schema: JSONSchema) -> JSONSchema:
    return {**schema, "type": [schema["type"], "null"]}
