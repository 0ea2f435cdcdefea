"""Components that operations share: security schemes, headers, parameters, and the error responses of both APIs."""

from typing import Any

from core.api.errors import CODES, SENTENCES
from core.api.fields import BooleanField
from core.api.idempotency import MAX_KEY_LENGTH

JSONSchema = dict[str, Any]

SECURITY = {
    "basic": {"type": "http", "scheme": "basic", "description": "Generation A: login (or e-mail) and password."},
    "bearer": {"type": "http", "scheme": "bearer", "description": "Generation B: an api_token; the recommended place."},
    "api_token": {
        "type": "apiKey",
        "in": "query",
        "name": "api_token",
        "description": "Generation B: an api_token. It may be a key of a JSON body as well; in several places it must be the same.",
    },
}

API_TOKEN = {
    "type": ["string", "null"],
    "writeOnly": True,
    "description": "The token, where it is not in the header or the query.",
}


def _header(description: str, schema: JSONSchema, *, required: bool = False) -> JSONSchema:
    return {"description": description, "required": required, "schema": schema}


_COUNT = {"type": "integer", "minimum": 0}

HEADERS = {
    "X-Request-Id": _header("What the service's log calls this request.", {"type": "string"}),
    "RateLimit-Limit": _header("How much is allowed.", _COUNT),
    "RateLimit-Remaining": _header("How much of it is left.", _COUNT),
    "RateLimit-Reset": _header("Seconds until the count begins anew.", _COUNT),
    "Location": _header("Where it is read.", {"type": "string", "format": "uri"}),
    "Link": _header("The first, previous and next page (RFC 8288).", {"type": "string"}, required=True),
    "Idempotent-Replayed": _header("The answer is that of an earlier request.", {"type": "string", "const": "true"}),
    "X-Ignored-Fields": _header(
        "Fields that are unknown or read-only: comma-separated, percent-encoded, the first 20, cut after 64 characters.",
        {"type": "string"},
    ),
    "X-Ignored-Parameters": _header(
        "Parameters that the list does not know: comma-separated, percent-encoded, the first 20, cut after 64 characters.",
        {"type": "string"},
    ),
    "X-Pending-Links": _header(
        "Links to what is in the trash: null until that is restored. Comma-separated names of fields.",
        {"type": "string"},
    ),
    "WWW-Authenticate": _header("What credentials are asked for.", {"type": "string"}, required=True),
    "Retry-After": _header("Seconds to wait.", {"type": "integer", "minimum": 1}, required=True),
    "ETag": _header("Which version of the document this is.", {"type": "string"}, required=True),
    "Cache-Control": _header("How long it may be kept.", {"type": "string"}, required=True),
}
COUNTED = ("X-Request-Id", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")


def _in_any_case(word: str) -> str:
    return "".join(f"[{letter.upper()}{letter}]" if letter.isalpha() else letter for letter in word)


PARAMETERS = {
    "Idempotency-Key": {
        "in": "header",
        "name": "Idempotency-Key",
        "description": "A text of your own making: a request is carried out once in 24 hours under it.",
        "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH, "pattern": "^[!-~]([ -~]*[!-~])?$"},
    },
    "Prefer": {
        "in": "header",
        "name": "Prefer",
        "description": (
            "With `handling=strict`, unknown parameters, and unknown and read-only fields, are refused instead of ignored (RFC 7240)."
        ),
        "schema": {"type": "string"},
    },
    "X-Atomic": {
        "in": "header",
        "name": "X-Atomic",
        "description": "With `true` it is all or nothing: if anything is wrong, nothing is written.",
        "schema": {"type": "string", "pattern": f"^({'|'.join(map(_in_any_case, BooleanField.WORDS))})$"},
    },
    "If-None-Match": {
        "in": "header",
        "name": "If-None-Match",
        "description": "The ETag of the document that one has: 304 if it is still the same.",
        "schema": {"type": "string"},
    },
}

ERROR_STATUSES = {400, 401, 403, 404, 409, 413, 415, 422, 429, 503}
_ALSO = {401: ["WWW-Authenticate"], 409: ["Retry-After"], 429: ["Retry-After"], 503: ["Retry-After"]}


def _headers(status: int) -> JSONSchema:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in [*COUNTED, *_ALSO.get(status, [])]}


def error_schema(status: int) -> JSONSchema:
    """Return the schema of the JSON error response with a status."""
    schema: JSONSchema = _json(status)["content"]["application/json"]["schema"]
    return schema


def _name(status: int) -> str:
    return "".join(word.capitalize() for word in CODES[status].split("_"))


def _json(status: int) -> JSONSchema:
    schema: JSONSchema = {
        "type": "object",
        "properties": {"code": {"const": CODES[status]}, "message": {"type": "string"}},
        "required": ["code", "message"],
        "additionalProperties": False,
    }
    example: JSONSchema = {"code": CODES[status], "message": SENTENCES[status]}
    if status == 422:
        rules = {"type": "array", "items": {"type": "string"}, "minItems": 1}
        schema["properties"]["errors"] = {
            "type": "object",
            "description": "What is wrong with each field; nested ones are named with dots.",
            "additionalProperties": rules,
        }
        schema["required"] = [*schema["required"], "errors"]
        example |= {"message": "Name can't be blank", "errors": {"name": ["can't be blank"]}}
    return {
        "description": SENTENCES[status],
        "headers": _headers(status),
        "content": {"application/json": {"schema": schema, "examples": {"refusal": {"value": example}}}},
    }


ERRORS = {
    "type": "object",
    "properties": {
        "error": {
            "type": "array",
            "description": "Whole sentences, one for each fault.",
            "items": {"type": "string"},
            "minItems": 1,
        }
    },
    "required": ["error"],
    "additionalProperties": False,
    "xml": {"name": "errors"},
}


def _xml(status: int) -> JSONSchema:
    sentence = "Title can't be blank" if status == 422 else SENTENCES[status]
    example = f'<?xml version="1.0" encoding="UTF-8"?>\n<errors>\n  <error>{sentence}</error>\n</errors>\n'
    return {
        "description": SENTENCES[status],
        "headers": _headers(status),
        "content": {
            "application/xml": {
                "schema": {"$ref": "#/components/schemas/Errors"},
                "examples": {"refusal": {"value": example}},
            }
        },
    }


# The name of a component and the component, by format and status.
ERROR_RESPONSES = {("json", status): (_name(status), _json(status)) for status in ERROR_STATUSES} | {
    ("xml", status): (f"{_name(status)}XML", _xml(status)) for status in ERROR_STATUSES
}
