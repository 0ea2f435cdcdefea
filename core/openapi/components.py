"""Components that operations share: those of `components.yaml`, and the error responses of both APIs."""

from pathlib import Path

import yaml

from core.api.fields import BooleanField
from core.http.errors import CODES, DEFAULT_MESSAGES
from core.http.idempotency import MAX_KEY_LENGTH
from core.openapi.fields import case_insensitive
from core.openapi.values import JSONSchema, array_of, object_of

COMPONENTS: JSONSchema = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
COMPONENTS["parameters"]["Idempotency-Key"]["schema"]["maxLength"] = MAX_KEY_LENGTH
COMPONENTS["parameters"]["X-Atomic"]["schema"]["pattern"] = f"^({'|'.join(map(case_insensitive, BooleanField.WORDS))})$"

API_TOKEN = {
    "type": ["string", "null"],
    "writeOnly": True,
    "description": "The token, if it is not in a header or in the query.",
}
COMMON_HEADERS = ("X-Request-Id", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
_FURTHER_HEADERS = {401: "WWW-Authenticate", 409: "Retry-After", 429: "Retry-After", 503: "Retry-After"}


def error_name(format: str, status: int) -> str:
    """Return the name of the component of an error response."""
    return "".join(map(str.capitalize, CODES[status].split("_"))) + ("XML" if format == "xml" else "")


def error_response(format: str, status: int) -> JSONSchema:
    """Return the response with an error in a format, `json` or `xml`."""
    headers = [*COMMON_HEADERS, *filter(None, [_FURTHER_HEADERS.get(status)])]
    example: object = {"code": CODES[status], "message": DEFAULT_MESSAGES[status]}
    if format == "xml":
        schema: JSONSchema = {"$ref": "#/components/schemas/Errors"}
        sentence = "Title can't be blank" if status == 422 else DEFAULT_MESSAGES[status]
        example = f'<?xml version="1.0" encoding="UTF-8"?>\n<errors>\n  <error>{sentence}</error>\n</errors>\n'
    else:
        schema = error_schema(status)
        if status == 422:
            example = {"code": CODES[status], "message": "Name can't be blank", "errors": {"name": ["can't be blank"]}}
    return {
        "description": DEFAULT_MESSAGES[status],
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in headers},
        "content": {f"application/{format}": {"schema": schema, "examples": {"refusal": {"value": example}}}},
    }


def error_schema(status: int, /, **properties: JSONSchema) -> JSONSchema:
    """Return the schema of the JSON object of an error, with further properties in front of its own."""
    properties |= {"code": {"const": CODES[status]}, "message": {"type": "string"}}
    if status == 422:
        properties["errors"] = {
            "type": "object",
            "description": "The messages for each invalid field. The names of nested fields contain dots.",
            "additionalProperties": array_of({"type": "string"}, minItems=1),
        }
    return object_of(properties)
