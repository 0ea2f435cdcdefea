"""The texts and examples of the operations, and what their views do not tell.

Each subject has the texts and examples of its operations in a file `openapi.yaml`, by tag and by method and path. The module of its views
adds the schemas that cannot be derived from them. `components.yaml` has components that operations share.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from django.db.models import Model
from rest_framework.views import APIView

from core.api.fields import BooleanField
from core.api.serializers import ResourceSerializer
from core.http.errors import CODES, DEFAULT_MESSAGES, SCOPE
from core.http.idempotency import MAX_KEY_LENGTH
from core.openapi.fields import case_insensitive
from core.openapi.values import JSONSchema, array_of, object_of
from core.rooms import find_parts

# The serializer of a key of a body, or a tuple of alternative serializers.
BodySerializers = type[ResourceSerializer] | tuple[type[ResourceSerializer], ...]


@dataclass(frozen=True)
class Shape:
    """The parts of the schema of a serializer that cannot be derived from its fields."""

    # The default is the model of the serializer. A field of a response may be null if its column of the model may be, or if `nullable` names it.
    model: type[Model] | None = None
    nullable: frozenset[str] = frozenset()
    # Fields of a new row whose value is computed if it is not sent. The default of their column does not apply.
    computed: frozenset[str] = frozenset()
    # Rules between fields: keywords that are added to the schema of a body, except for an update. A keyword with None is removed.
    rules: JSONSchema = field(default_factory=dict)


# The modules of the views fill these dictionaries. Except for the first and the last one, the keys are ids of operations.
SHAPES: dict[type[ResourceSerializer], Shape] = {}
# Schemas of query parameters, in addition to those of the page, the order and the filters.
QUERY_PARAMETERS: dict[str, Mapping[str, JSONSchema]] = {}
# The serializers of the keys of a body, or a function that returns the schema of the body. The default is the serializer of the view.
BODIES: dict[str, dict[str, BodySerializers] | Callable[..., JSONSchema]] = {}
# The schema of a response, a serializer for it, or a function that returns the schema for an operation and a status.
RESPONSES: dict[str, JSONSchema | type[ResourceSerializer] | Callable[..., JSONSchema]] = {}
# Limits that descriptions name in braces.
LIMITS: dict[str, int] = {}


@dataclass(frozen=True)
class Operation:
    """The texts and examples of an operation."""

    # The id in the file. A PATCH that is described by the PUT of its path has another `id`.
    key: str
    id: str
    summary: str
    description: str
    # The heading of its section.
    tag: str
    # Examples of the body, of the response and of parameters. Without a response, the example of its object is used. A response contains
    # only the values that differ from this example. An empty request has no keys, except for the token.
    request: Any = None
    response: object = None
    parameters: dict[str, object] = field(default_factory=dict)
    # The names of the query parameters that a request must have.
    required: tuple[str, ...] = ()
    # Statuses of success. The example of the response belongs to the first of them. The default is 201 for a create, else 200.
    statuses: tuple[int, ...] = ()
    # Headers of the request and statuses of errors, in addition to those that are derived from the view.
    headers: tuple[str, ...] = ()
    errors: tuple[int, ...] = ()


# The default id, summary and description of an action on a resource.
DEFAULT_TEXTS = {
    "list": ("list_{key}s", "List {name}s", "The page of the resources that match all filters."),
    "create": ("create_{key}", "Create a {name}", ""),
    "retrieve": ("read_{key}", "Read a {name}", "The {name} with that id."),
    "update": (
        "update_{key}",
        "Update a {name}",
        "Fields that are not sent keep their values. The response is the whole resource.",
    ),
    "destroy": ("delete_{key}", "Delete a {name}", ""),
}


@cache
def read_files() -> list[JSONSchema]:
    """Return the contents of the files of all subjects."""
    return [yaml.safe_load(path.read_text("utf-8")) for _, path in find_parts("openapi.yaml")]


@cache
def object_examples() -> dict[str, JSONSchema]:
    """Return the example of each object by the name of its component. Fields that are null may be missing."""
    return {name: example for content in read_files() for name, example in content.get("examples", {}).items()}


@cache
def entries() -> dict[str, JSONSchema]:
    """Return the entries of the files by method and path, each with its tag."""
    return {
        route: {"tag": tag, **(entry or {})}
        for content in read_files()
        for tag, routes in content["operations"].items()
        for route, entry in routes.items()
    }


def operation_of(method: str, path: str, view: APIView) -> Operation:
    """Return the description of an operation. A PATCH that has none is described by the PUT of the same path."""
    is_repeated = method == "PATCH" and f"PATCH {path}" not in entries()
    route = f"{'PUT' if is_repeated else method} {path}"
    if route not in entries():
        raise LookupError(f"{route} is not described: add it to the file `openapi.yaml` of its subject")
    values = {**default_texts(view), **entries()[route]}
    values["description"] = values["description"].format_map(LIMITS)
    if method == "DELETE":
        values.setdefault("response", "ok")
    key = id = values.pop("id")
    if is_repeated:
        id = f"patch_{key.partition('_')[2]}"
        values["description"] += " The same as PUT."
    return Operation(key, id, **values)


def default_texts(view: Any) -> dict[str, str]:
    """Return the texts of an action on a resource, which its entry may replace."""
    key = getattr(view, "key", None)
    if key is None or view.action not in DEFAULT_TEXTS:
        return {}
    texts = (text.format(key=key, name=key.replace("_", " ")) for text in DEFAULT_TEXTS[view.action])
    return dict(zip(("id", "summary", "description"), texts, strict=True))


def complete(value: object, schema: JSONSchema, resolve: Callable[[JSONSchema], JSONSchema]) -> object:
    """Return an example of a response, in which the fields that have no value get that of the example of their object, or null.

    `resolve` returns the schema that a reference points to.
    """
    if isinstance(value, list):
        return [complete(item, schema.get("items", {}), resolve) for item in value]
    if not isinstance(value, dict):
        return value
    options = schema.get("oneOf") or schema.get("anyOf")
    if options:
        fitting = [option for option in options if value.keys() <= resolve(option)["properties"].keys()]
        schema = min(fitting, key=lambda option: len(set(resolve(option)["required"]) - value.keys()))
    example = object_examples().get(schema.get("$ref", "").rpartition("/")[2], {})
    schema = resolve(schema)
    values = {**dict.fromkeys(schema.get("required", ())), **example, **value}
    properties = schema.get("properties", {})
    return {name: complete(inner, properties.get(name, {}), resolve) for name, inner in values.items()}


# Shared components, and the error responses of both APIs

COMPONENTS: JSONSchema = yaml.safe_load(Path(__file__).with_name("components.yaml").read_text("utf-8"))
COMPONENTS["parameters"]["Idempotency-Key"]["schema"]["maxLength"] = MAX_KEY_LENGTH
COMPONENTS["parameters"]["X-Atomic"]["schema"]["pattern"] = f"^({'|'.join(map(case_insensitive, BooleanField.WORDS))})$"

API_TOKEN: JSONSchema = {"type": ["string", "null"], "writeOnly": True}
API_TOKEN["description"] = "The token, if it is not in a header or in the query."
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
    code = {"enum": [CODES[status], SCOPE]} if status == 403 else {"const": CODES[status]}
    properties |= {"code": code, "message": {"type": "string"}}
    if status == 422:
        properties["errors"] = {
            "type": "object",
            "description": "The messages for each invalid field. The names of nested fields contain dots.",
            "additionalProperties": array_of({"type": "string"}, minItems=1),
        }
    return object_of(properties)
