"""Components that operations share: security schemes, headers, parameters, and the error responses of both APIs."""

from typing import Any

from core.api.errors import CODES, DEFAULT_MESSAGES
from core.api.fields import BooleanField
from core.api.idempotency import MAX_KEY_LENGTH
from core.openapi.fields import case_insensitive

JSONSchema = dict[str, Any]

# The recommended scheme comes first.
SECURITY = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "For the Account API (JSON): an `api_token`. This is the recommended place.",
    },
    "api_token": {
        "type": "apiKey",
        "in": "query",
        "name": "api_token",
        "description": "For the Account API (JSON): an `api_token`. It may also be a key of a JSON body. If a request has it in several places, all must be the same.",
    },
    "basic": {
        "type": "http",
        "scheme": "basic",
        "description": "For the Forum API (XML): login or e-mail address, and password.",
    },
}

API_TOKEN = {
    "type": ["string", "null"],
    "writeOnly": True,
    "description": "The token, if it is not in a header or in the query.",
}


def _header(description: str, schema: JSONSchema, *, required: bool = False) -> JSONSchema:
    return {"description": description, "required": required, "schema": schema}


_COUNT = {"type": "integer", "minimum": 0}

HEADERS = {
    "X-Request-Id": _header("The id of this request in the log of the service.", {"type": "string"}),
    "RateLimit-Limit": _header("The number of requests that the limit allows.", _COUNT),
    "RateLimit-Remaining": _header("The number of requests that are left.", _COUNT),
    "RateLimit-Reset": _header("Seconds until the limit is reset.", _COUNT),
    "Location": _header("The URL of the resource.", {"type": "string", "format": "uri"}),
    "Link": _header("The first, previous and next page (RFC 8288).", {"type": "string"}, required=True),
    "Idempotent-Replayed": _header(
        "The response is the stored one of an earlier request.", {"type": "string", "const": "true"}
    ),
    "X-Ignored-Fields": _header(
        "The ignored fields, which are unknown or read-only: comma-separated and percent-encoded. At most 20 are listed, each cut to 64 characters.",
        {"type": "string"},
    ),
    "X-Ignored-Parameters": _header(
        "The ignored parameters, which are unknown: comma-separated and percent-encoded. At most 20 are listed, each cut to 64 characters.",
        {"type": "string"},
    ),
    "X-Pending-Links": _header(
        "The comma-separated names of fields that are null because the linked resource is in the trash. They are set again when it is restored.",
        {"type": "string"},
    ),
    "WWW-Authenticate": _header("The scheme of the required credentials.", {"type": "string"}, required=True),
    "Retry-After": _header("Seconds to wait.", {"type": "integer", "minimum": 1}, required=True),
    "ETag": _header("The version of the document.", {"type": "string"}, required=True),
    "Cache-Control": _header("How long the response may be cached.", {"type": "string"}, required=True),
}
COMMON_HEADERS = ("X-Request-Id", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")


PARAMETERS = {
    "Idempotency-Key": {
        "in": "header",
        "name": "Idempotency-Key",
        "description": "A text that the client chooses. Requests with the same key are carried out only once in 24 hours.",
        "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH, "pattern": "^[!-~]([ -~]*[!-~])?$"},
    },
    "Prefer": {
        "in": "header",
        "name": "Prefer",
        "description": (
            "With `handling=strict`, unknown parameters and unknown or read-only fields are errors. Otherwise they are ignored (RFC 7240)."
        ),
        "schema": {"type": "string"},
    },
    "X-Atomic": {
        "in": "header",
        "name": "X-Atomic",
        "description": "With `true`, nothing is written if any item is invalid.",
        "schema": {"type": "string", "pattern": f"^({'|'.join(map(case_insensitive, BooleanField.WORDS))})$"},
    },
    "If-Match": {
        "in": "header",
        "name": "If-Match",
        "description": "ETags of a GET of the same address, or `*`. The response is 412 if the resource has none of them (RFC 9110).",
        "schema": {"type": "string"},
    },
    "If-Unmodified-Since": {
        "in": "header",
        "name": "If-Unmodified-Since",
        "description": "The Last-Modified of a GET of the same address. The response is 412 if the resource has changed since (RFC 9110).",
        "schema": {"type": "string"},
    },
    "If-None-Match": {
        "in": "header",
        "name": "If-None-Match",
        "description": "The ETag of a stored document. The response is 304 if the document has not changed.",
        "schema": {"type": "string"},
    },
}

ERROR_STATUSES = {400, 401, 403, 404, 409, 412, 413, 415, 422, 429, 503}
_FURTHER_HEADERS = {401: ["WWW-Authenticate"], 409: ["Retry-After"], 429: ["Retry-After"], 503: ["Retry-After"]}


def _headers(status: int) -> JSONSchema:
    return {
        name: {"$ref": f"#/components/headers/{name}"} for name in [*COMMON_HEADERS, *_FURTHER_HEADERS.get(status, [])]
    }


def error_schema(status: int) -> JSONSchema:
    """Return the schema of the JSON error response with a status."""
    schema: JSONSchema = _json_response(status)["content"]["application/json"]["schema"]
    return schema


def _component_name(status: int) -> str:
    return "".join(word.capitalize() for word in CODES[status].split("_"))


def _json_response(status: int) -> JSONSchema:
    schema: JSONSchema = {
        "type": "object",
        "properties": {"code": {"const": CODES[status]}, "message": {"type": "string"}},
        "required": ["code", "message"],
        "additionalProperties": False,
    }
    example: JSONSchema = {"code": CODES[status], "message": DEFAULT_MESSAGES[status]}
    if status == 422:
        messages = {"type": "array", "items": {"type": "string"}, "minItems": 1}
        schema["properties"]["errors"] = {
            "type": "object",
            "description": "The messages for each invalid field. The names of nested fields contain dots.",
            "additionalProperties": messages,
        }
        schema["required"] = [*schema["required"], "errors"]
        example |= {"message": "Name can't be blank", "errors": {"name": ["can't be blank"]}}
    return {
        "description": DEFAULT_MESSAGES[status],
        "headers": _headers(status),
        "content": {"application/json": {"schema": schema, "examples": {"refusal": {"value": example}}}},
    }


ERRORS = {
    "type": "object",
    "properties": {
        "error": {
            "type": "array",
            "description": "One whole sentence for each error.",
            "items": {"type": "string"},
            "minItems": 1,
        }
    },
    "required": ["error"],
    "additionalProperties": False,
    "xml": {"name": "errors"},
}


def _xml_response(status: int) -> JSONSchema:
    sentence = "Title can't be blank" if status == 422 else DEFAULT_MESSAGES[status]
    example = f'<?xml version="1.0" encoding="UTF-8"?>\n<errors>\n  <error>{sentence}</error>\n</errors>\n'
    return {
        "description": DEFAULT_MESSAGES[status],
        "headers": _headers(status),
        "content": {
            "application/xml": {
                "schema": {"$ref": "#/components/schemas/Errors"},
                "examples": {"refusal": {"value": example}},
            }
        },
    }


# The name of a component and the component, by format and status.
ERROR_RESPONSES = {("json", status): (_component_name(status), _json_response(status)) for status in ERROR_STATUSES} | {
    ("xml", status): (f"{_component_name(status)}XML", _xml_response(status)) for status in ERROR_STATUSES
}
