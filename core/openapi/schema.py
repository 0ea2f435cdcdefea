"""The operations of the document, derived from their views."""

from typing import Any, ClassVar, cast

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent

from core.api import preconditions
from core.api.fields import WireField
from core.api.filters import ListFilters
from core.api.formats import URL_ENCODED
from core.api.idempotency import accepts_key
from core.api.lists import Listing
from core.api.pagination import MAX_PAGE_SIZE
from core.api.paging import DEFAULT_PAGE_SIZE
from core.api.resources import ResourceViewSet
from core.api.serializers import ResourceSerializer, declared_fields
from core.openapi.components import API_TOKEN, COMMON_HEADERS, ERROR_RESPONSES, ERRORS, HEADERS, PARAMETERS, SECURITY
from core.openapi.fields import WireFieldExtension, nullable
from core.openapi.operations import OPERATIONS, SHAPES, BodySerializers, Operation, Shape

JSONSchema = dict[str, Any]
ID = {"type": "integer", "minimum": 1, "maximum": 10**18 - 1}


def page_parameters(max_size: int) -> dict[str, JSONSchema]:
    """Return the parameters of a page with at most `max_size` rows."""
    return {
        "page": {
            "type": "integer",
            "minimum": 1,
            "description": "The first page is 1. A page after the last one is empty.",
        },
        "per_page": {
            "type": "integer",
            "minimum": 1,
            "maximum": max_size,
            "default": DEFAULT_PAGE_SIZE,
            "description": "The number of rows on a page.",
        },
    }


# The parameters of lists of the Account API.
PAGE_PARAMETERS = page_parameters(MAX_PAGE_SIZE)


def filter_parameters(filterset_class: type[ListFilters]) -> dict[str, JSONSchema]:
    """Return the parameters of the filters of a list."""
    filters = filterset_class.base_filters.items()
    return {name: WireFieldExtension.of(each.wire).query_schema() for name, each in filters}


def add_defaults(properties: dict[str, JSONSchema], shape: Shape) -> None:
    """Add the defaults of the columns to the schemas of the fields of a new row. Omit empty texts."""
    columns = {} if shape.model is None else {column.name: column for column in shape.model._meta.fields}
    for name in (properties.keys() & columns.keys()) - shape.computed:
        default = columns[name].default
        if isinstance(default, (bool, int, str)) and default != "":
            properties[name] = {**properties[name], "default": default}


class OperationSchema(AutoSchema):
    """The description of an operation, for both APIs."""

    # The viewset, which drf-spectacular sets.
    view: Any
    media_type: ClassVar[str]
    # The format of error responses: `json` or `xml`.
    error_format: ClassVar[str]

    def get_operation(self, path: str, path_regex: str, path_prefix: str, method: str, registry: Any) -> JSONSchema:
        self.registry, self.path, self.method = registry, path, method
        operation = self.operation
        body = self.body()
        return {
            "operationId": operation.id,
            "summary": operation.summary,
            "description": operation.description,
            "tags": [operation.tag],
            "parameters": self.parameters(),
            **({"requestBody": body} if body else {}),
            "security": self.security(),
            "responses": self.responses(),
        }

    @property
    def operation(self) -> Operation:
        """The registered description."""
        name = f"{self.method} {self.path}"
        if name not in OPERATIONS:
            raise LookupError(f"{name} is not described: register it in the `openapi` module of its app")
        return OPERATIONS[name]

    @property
    def is_list(self) -> bool:
        return bool(self.view.action == "list")

    @property
    def accepts_key(self) -> bool:
        """True if a request may have an Idempotency-Key."""
        return accepts_key(self.method, self.view.action)

    @property
    def is_conditional(self) -> bool:
        """True if a request may have conditions (`core.api.preconditions`)."""
        return self.method in preconditions.METHODS

    def component(self, kind: str, name: str, definition: JSONSchema) -> JSONSchema:
        """Add a component to the document, and return a reference to it."""
        component = ResolvedComponent(name, kind, schema=definition, object=name)
        self.registry.register_on_missing(component)
        return component.ref

    def field(self, field: WireField, direction: str) -> JSONSchema:
        return WireFieldExtension.of(field).map_serializer_field(self, direction)

    # The request

    def parameters(self) -> list[JSONSchema]:
        path = {"id": ID} if "{id}" in self.path else {}
        parameters = [
            self.parameter("path", name, schema) for name, schema in {**path, **self.path_parameters()}.items()
        ]
        parameters += [self.parameter("query", name, schema) for name, schema in self.query_parameters().items()]
        return parameters + [self.component("parameters", name, PARAMETERS[name]) for name in self.header_parameters()]

    def parameter(self, location: str, name: str, schema: JSONSchema) -> JSONSchema:
        schema = dict(schema)
        parameter: JSONSchema = {"in": location, "name": name, "schema": schema}
        if "description" in schema:
            parameter["description"] = schema.pop("description")
        if location == "path" or name in self.operation.required_parameters:
            parameter["required"] = True
        elif schema.get("type") == "object":
            parameter |= {"style": "deepObject", "explode": True, "required": schema.get("minProperties", 0) > 0}
        elif name not in PAGE_PARAMETERS:
            # A blank parameter is ignored.
            parameter["allowEmptyValue"] = True
        if name in (examples := self.operation.parameter_examples):
            parameter["example"] = examples[name]
        return parameter

    def path_parameters(self) -> dict[str, JSONSchema]:
        return {}

    def query_parameters(self) -> dict[str, JSONSchema]:
        return self.operation.query_parameters()

    def header_parameters(self) -> list[str]:
        conditions = ["If-Match", "If-Unmodified-Since"] if self.is_conditional else []
        return [*(["Idempotency-Key"] if self.accepts_key else []), *conditions, *self.operation.header_parameters]

    def body(self) -> JSONSchema | None:
        raise NotImplementedError

    def security(self) -> list[JSONSchema]:
        raise NotImplementedError

    def secured_by(self, *names: str) -> list[JSONSchema]:
        for name in names:
            self.component("securitySchemes", name, SECURITY[name])
        return [{name: []} for name in names]

    def shape_of(self, serializer: type[ResourceSerializer]) -> Shape:
        return SHAPES.get(serializer) or Shape(serializer.model)

    def input_schema(self, serializer: type[ResourceSerializer], *, partial: bool) -> JSONSchema:
        """Return the schema of a body. Unknown fields are allowed, because serializers ignore them."""
        writable = {name: field for name, field in declared_fields(serializer).items() if not field.read_only}
        schema: JSONSchema = {
            "type": "object",
            "properties": {name: self.field(field, "request") for name, field in writable.items()},
            "additionalProperties": True,
        }
        if not partial:
            add_defaults(schema["properties"], self.shape_of(serializer))
        required = [name for name, field in writable.items() if field.required]
        if required and not partial:
            schema["required"] = required
        return self.shape_of(serializer).refine_input(schema, partial)

    # The response

    def responses(self) -> JSONSchema:
        responses: JSONSchema = {}
        statuses = self.operation.statuses or ((201,) if self.view.action == "create" else (200,))
        for status in statuses:
            content = {"schema": self.response_schema(status)}
            if status == statuses[0]:
                content["examples"] = {"answer": {"value": self.operation.response_example}}
            responses[str(status)] = {
                "description": {200: "Success", 201: "Created"}[status],
                "headers": {name: self.component("headers", name, HEADERS[name]) for name in self.headers(status)},
                "content": {self.media_type: content},
            }
        if self.error_format == "xml":
            self.component("schemas", "Errors", ERRORS)
        for status in sorted(self.error_statuses() | self.operation.error_statuses):
            name, response = ERROR_RESPONSES[self.error_format, status]
            responses[str(status)] = self.component("responses", name, response)
            for header in response["headers"]:
                self.component("headers", header, HEADERS[header])
        return responses

    def response_schema(self, status: int) -> JSONSchema:
        raise NotImplementedError

    def headers(self, status: int) -> list[str]:
        names = list(COMMON_HEADERS)
        if status == 201:
            names.append("Location")
        if "page" in self.query_parameters():
            names.append("Link")
        if self.accepts_key:
            names.append("Idempotent-Replayed")
        return names

    def error_statuses(self) -> set[int]:
        statuses = {400, 401, 404, 413, 429, 503}
        if self.accepts_key:
            statuses |= {409, 422}
        if self.query_parameters() or self.body():
            statuses |= {422}
        if self.is_conditional:
            statuses |= {412}
        return statuses


class JSONOperationSchema(OperationSchema):
    """The description of an operation of the Account API."""

    media_type = "application/json"
    error_format = "json"

    def security(self) -> list[JSONSchema]:
        return self.secured_by("bearer", "api_token")

    def query_parameters(self) -> dict[str, JSONSchema]:
        parameters: JSONSchema = {}
        if self.is_paged:
            parameters |= PAGE_PARAMETERS
        if self.is_list and isinstance(self.view, Listing):
            orders = [f"{sign}{name}" for name in self.view.ordering_fields for sign in ("", "-")]
            parameters["order"] = {"type": "string", "enum": orders}
        if self.is_list and getattr(self.view, "filterset_class", None) is not None:
            parameters |= filter_parameters(self.view.filterset_class)
        return parameters | self.operation.query_parameters()

    @property
    def is_paged(self) -> bool:
        """True if the response is a page: the view has a paginator, and the example is a list."""
        has_paginator = getattr(self.view, "pagination_class", None) is not None
        return has_paginator and self.method == "GET" and isinstance(self.operation.response_example, list)

    def header_parameters(self) -> list[str]:
        return [*super().header_parameters(), *(["Prefer"] if self.writes or self.is_list else [])]

    @property
    def writes(self) -> bool:
        return self.body_serializers is not None or self.operation.body_schema is not None

    @property
    def body_serializers(self) -> dict[str, BodySerializers] | None:
        """The serializers of the keys of the body, or None if the body has only the token."""
        if self.operation.body_serializers is not None or not isinstance(self.view, ResourceViewSet):
            return self.operation.body_serializers
        writes = self.view.action in ("create", "update", "upsert")
        return {self.view.key: self.view.serializer_class} if writes else None

    @property
    def is_partial(self) -> bool:
        return bool(self.view.action in ("update", "upsert"))

    def body(self) -> JSONSchema | None:
        if not self.writes:
            return None
        schema = self.operation.body_schema(self) if self.operation.body_schema is not None else self.body_schema()
        content: JSONSchema = {"schema": schema}
        if self.operation.body is not None:
            content["examples"] = {"request": {"value": self.operation.body}}
        return {"required": "required" in schema, "content": dict.fromkeys((self.media_type, URL_ENCODED), content)}

    def body_schema(self) -> JSONSchema:
        properties: JSONSchema = {"api_token": API_TOKEN}
        body_serializers = self.body_serializers or {}
        for key, serializers in body_serializers.items():
            alternatives = serializers if isinstance(serializers, tuple) else (serializers,)
            schemas = [self.input_component(serializer) for serializer in alternatives]
            properties[key] = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
        for key in getattr(self.view, "body_keys", ()):
            if key not in properties and self.view.action == "create":
                field = declared_fields(self.view.serializer_class)[key]
                properties[key] = self.field(field, "request")
        schema = {"type": "object", "properties": properties, "additionalProperties": True}
        if self.body_serializers:
            schema["required"] = list(self.body_serializers)
        return schema

    def input_component(self, serializer: type[ResourceSerializer]) -> JSONSchema:
        name = serializer.__name__.removesuffix("Serializer").removeprefix("New")
        schema = self.input_schema(serializer, partial=self.is_partial)
        return self.component("schemas", f"{name}Changes" if self.is_partial else f"New{name}", schema)

    def response_schema(self, status: int) -> JSONSchema:
        if self.operation.response_example == "ok":
            return {"type": "string", "const": "ok"}
        response = self.operation.response or self.view.serializer_class
        if isinstance(response, dict):
            return response
        if not isinstance(response, type):
            return response(self, status)
        schema = self.output_component(response)
        return {"type": "array", "items": schema} if isinstance(self.operation.response_example, list) else schema

    def output_component(self, serializer: type[ResourceSerializer]) -> JSONSchema:
        return self.component("schemas", serializer.__name__.removesuffix("Serializer"), self.output_schema(serializer))

    def output_schema(self, serializer: type[ResourceSerializer]) -> JSONSchema:
        """Return the schema of a response, with the fields in the order of the response."""
        shape = self.shape_of(serializer)
        columns = {} if shape.model is None else {column.name: column for column in shape.model._meta.fields}
        properties = {}
        for name in serializer.names:
            properties[name] = self.field(declared_fields(serializer)[name], "response")
            if name in shape.nullable or (name in columns and columns[name].null):
                properties[name] = nullable(properties[name])
        schema = {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
        return shape.refine_output(schema)

    def headers(self, status: int) -> list[str]:
        optional = {
            "X-Ignored-Fields": self.writes,
            "X-Pending-Links": self.writes,
            "X-Ignored-Parameters": self.is_list,
        }
        return [*super().headers(status), *(name for name, is_included in optional.items() if is_included)]

    def error_statuses(self) -> set[int]:
        # Any request may have a body with the token.
        return super().error_statuses() | {403, 415}


class PublicSchema(OperationSchema):
    """A public operation, without credentials and rate limits."""

    media_type = "application/json"
    error_format = "json"

    def security(self) -> list[JSONSchema]:
        return []

    def header_parameters(self) -> list[str]:
        return ["If-None-Match"]

    def body(self) -> None:
        return None

    def response_schema(self, status: int) -> JSONSchema:
        return cast(JSONSchema, self.operation.response)

    def headers(self, status: int) -> list[str]:
        return ["X-Request-Id", "ETag", "Cache-Control"]

    def responses(self) -> JSONSchema:
        responses = super().responses()
        headers = responses["200"]["headers"]
        unchanged = {"description": "The document has not changed.", "headers": headers}
        return {"200": responses.pop("200"), "304": unchanged, **responses}

    def error_statuses(self) -> set[int]:
        return {400, 404, 413, 503}


class PageSchema(PublicSchema):
    """The page that shows the document."""

    media_type = "text/html"
    error_format = "xml"

    def header_parameters(self) -> list[str]:
        return []

    def headers(self, status: int) -> list[str]:
        return ["X-Request-Id", "Cache-Control"]

    def responses(self) -> JSONSchema:
        return OperationSchema.responses(self)
