"""The operations of the document, derived from their views."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent
from rest_framework.permissions import SAFE_METHODS

from core.api.additional_fields import AdditionalFieldsSerializer
from core.api.fields import WireField
from core.api.filters import ListFilters
from core.api.lists import Listing
from core.api.paging import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE
from core.api.resources import ResourceViewSet
from core.api.serializers import ResourceSerializer, declared_fields
from core.db.fields import AnyField
from core.http import preconditions
from core.http.formats import URL_ENCODED
from core.http.idempotency import accepts_key
from core.openapi import operations
from core.openapi.fields import WireFieldExtension, add_typed_fields, nullable
from core.openapi.values import ID_PARAMETER, NAME, JSONSchema, array_of, object_of
from core.rows.scopes import READ, WRITE


def page_parameters(max_size: int) -> dict[str, JSONSchema]:
    """Return the parameters of a page with at most `max_size` rows."""
    text = "The first page is 1. A page after the last one is empty."
    size = {"type": "integer", "minimum": 1, "maximum": max_size, "default": DEFAULT_PAGE_SIZE}
    return {
        "page": {"type": "integer", "minimum": 1, "description": text},
        "per_page": {**size, "description": "The number of rows on a page."},
    }


def field_parameters(fields: dict[str, WireField]) -> dict[str, JSONSchema]:
    """Return the schemas of parameters that these fields read."""
    return {name: WireFieldExtension.find_for(field).query_schema() for name, field in fields.items()}


def filter_parameters(filterset_class: type[ListFilters]) -> dict[str, JSONSchema]:
    """Return the parameters of the filters of a list."""
    return field_parameters({name: filter.wire for name, filter in filterset_class.base_filters.items()})


class OperationSchema(AutoSchema):
    """The description of an operation, for both APIs."""

    # The viewset, which drf-spectacular sets.
    view: Any
    operation: operations.Operation
    media_type: ClassVar[str] = "application/json"
    # The format of error responses: `json` or `xml`.
    error_format: ClassVar[str] = "json"
    # The names of the security schemes.
    schemes: ClassVar[tuple[str, ...]] = ()

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: ComponentRegistry
    ) -> JSONSchema:
        self.registry, self.path, self.method = registry, path, method
        self.operation = operations.operation_of(method, path, self.view)
        body = self.body()
        return {
            "operationId": self.operation.id,
            "summary": self.operation.summary,
            "description": self.operation.description,
            "tags": [self.operation.tag],
            "parameters": self.parameters(),
            **({"requestBody": body} if body else {}),
            "security": [{name: self.scopes} for name in self.schemes if self.shared("securitySchemes", name)],
            "responses": self.responses(),
        }

    @property
    def scopes(self) -> list[str]:
        """The scopes that a token with scopes needs."""
        return []

    @property
    def is_list(self) -> bool:
        return bool(self.view.action == "list")

    @property
    def accepts_key(self) -> bool:
        """True if a request may have an Idempotency-Key."""
        return accepts_key(self.method, self.view.action)

    @property
    def is_conditional(self) -> bool:
        """True if a request may have conditions (`core.http.preconditions`)."""
        return self.method in preconditions.METHODS

    def component(self, kind: str, name: str, definition: JSONSchema) -> JSONSchema:
        """Add a component to the document, and return a reference to it."""
        component = ResolvedComponent(name, kind, schema=definition, object=name)
        self.registry.register_on_missing(component)
        return component.ref

    def shared(self, kind: str, name: str) -> JSONSchema:
        """Return a reference to a component of `components.yaml`."""
        return self.component(kind, name, operations.COMPONENTS[kind][name])

    def resolve(self, schema: JSONSchema) -> JSONSchema:
        """Return the schema of the component that a reference points to, or another schema unchanged."""
        name = schema.get("$ref", "").rpartition("/")[2]
        return cast(JSONSchema, self.registry[name, "schemas"].schema) if name else schema

    def field(self, field: WireField, direction: str) -> JSONSchema:
        return WireFieldExtension.find_for(field).map_serializer_field(self, direction)

    # The request

    def parameters(self) -> list[JSONSchema]:
        locations = {"path": self.path_parameters(), "query": self.query_parameters()}
        parameters = [
            self.parameter(location, *parameter)
            for location, schemas in locations.items()
            for parameter in schemas.items()
        ]
        return parameters + [self.shared("parameters", name) for name in self.header_parameters()]

    def parameter(self, location: str, name: str, schema: JSONSchema) -> JSONSchema:
        schema = dict(schema)
        parameter: JSONSchema = {"in": location, "name": name, "schema": schema}
        if "description" in schema:
            parameter["description"] = schema.pop("description")
        if location == "path" or name in self.operation.required:
            parameter["required"] = True
        elif schema.get("type") == "object":
            parameter |= {"style": "deepObject", "explode": True, "required": schema.get("minProperties", 0) > 0}
        elif name not in ("page", "per_page"):
            # A blank parameter is ignored.
            parameter["allowEmptyValue"] = True
        examples = {**({"id": self.id_example} if location == "path" else {}), **self.operation.parameters}
        if name in examples:
            parameter["example"] = examples[name]
        return parameter

    @property
    def id_example(self) -> int:
        """The id in the example of the object of the view, or 1."""
        serializer = getattr(self.view, "serializer_class", None)
        return int(operations.object_examples().get(component_name(serializer), {}).get("id", 1)) if serializer else 1

    def path_parameters(self) -> dict[str, JSONSchema]:
        return {"id": ID_PARAMETER} if "{id}" in self.path else {}

    def query_parameters(self) -> dict[str, JSONSchema]:
        return dict(operations.QUERY_PARAMETERS.get(self.operation.key, {}))

    def header_parameters(self) -> list[str]:
        conditions = ["If-Match", "If-Unmodified-Since"] if self.is_conditional else []
        return [*(["Idempotency-Key"] if self.accepts_key else []), *conditions, *self.operation.headers]

    def body(self) -> JSONSchema | None:
        return None

    def body_content(self, schema: JSONSchema) -> JSONSchema:
        examples = {"examples": {"request": {"value": self.operation.request}}} if self.operation.request else {}
        return {"schema": schema, **examples}

    def input_schema(self, serializer: type[ResourceSerializer], *, partial: bool) -> JSONSchema:
        """Return the schema of a body. Unknown fields are allowed, because serializers ignore them."""
        writable = {name: field for name, field in declared_fields(serializer).items() if not field.read_only}
        properties = {name: self.field(field, "request") for name, field in writable.items()}
        schema: JSONSchema = {"type": "object", "properties": properties, "additionalProperties": True}
        required = [name for name, field in writable.items() if field.required]
        if not partial:
            self.add_defaults(properties, serializer)
            schema |= {"required": required} if required else {}
        if issubclass(serializer, AdditionalFieldsSerializer):
            schema = add_typed_fields(schema, serializer, "request")
        return schema if partial else add_rules(schema, shape_of(serializer).rules)

    def add_defaults(self, properties: dict[str, JSONSchema], serializer: type[ResourceSerializer]) -> None:
        """Add the defaults of the columns to the schemas of the fields of a new row. Omit empty texts."""
        columns = columns_of(serializer)
        for name in (properties.keys() & columns.keys()) - shape_of(serializer).computed:
            default = columns[name].default
            if isinstance(default, (bool, int, str)) and default != "":
                properties[name] = {**properties[name], "default": default}

    # The response

    def responses(self) -> JSONSchema:
        responses: JSONSchema = {}
        statuses = self.operation.statuses or ((201,) if self.view.action == "create" else (200,))
        for status in statuses:
            content = {"schema": self.response_schema(status)}
            if status == statuses[0]:
                content["examples"] = {"answer": {"value": self.response_example(content["schema"])}}
            responses[str(status)] = {
                "description": {200: "Success", 201: "Created"}[status],
                "headers": {name: self.shared("headers", name) for name in self.headers(status)},
                "content": {self.media_type: content},
            }
        for status in sorted(self.error_statuses().union(self.operation.errors)):
            response = operations.error_response(self.error_format, status)
            responses[str(status)] = self.component(
                "responses", operations.error_name(self.error_format, status), response
            )
            for header in response["headers"]:
                self.shared("headers", header)
        if self.error_format == "xml":
            self.shared("schemas", "Errors")
        return responses

    def response_schema(self, status: int) -> JSONSchema:
        """Return the registered schema of a response."""
        response: Any = operations.RESPONSES[self.operation.key]
        return cast(JSONSchema, response(self, status) if callable(response) else response)

    def response_example(self, schema: JSONSchema) -> object:
        return self.operation.response

    def headers(self, status: int) -> list[str]:
        conditions = {
            "Location": status == 201,
            "Link": "page" in self.query_parameters(),
            "Idempotent-Replayed": self.accepts_key,
        }
        return [*operations.COMMON_HEADERS, *(name for name, is_included in conditions.items() if is_included)]

    def error_statuses(self) -> set[int]:
        statuses = {400, 401, 404, 413, 429, 503}
        if self.accepts_key:
            statuses |= {409, 422}
        if self.query_parameters() or self.body():
            statuses |= {422}
        return statuses | {412} if self.is_conditional else statuses


def add_rules(schema: JSONSchema, rules: JSONSchema) -> JSONSchema:
    rules = {**rules, "properties": {**schema["properties"], **rules.get("properties", {})}}
    return {keyword: value for keyword, value in {**schema, **rules}.items() if value is not None}


def shape_of(serializer: type[ResourceSerializer]) -> operations.Shape:
    return operations.SHAPES.get(serializer) or operations.Shape()


def component_name(serializer: type) -> str:
    return serializer.__name__.removesuffix("Serializer")


def columns_of(serializer: type[ResourceSerializer]) -> dict[str, AnyField]:
    """Return the columns of the model of a serializer by name."""
    model = shape_of(serializer).model or serializer.model
    return {} if model is None else {column.name: column for column in model._meta.fields}


class JSONOperationSchema(OperationSchema):
    """The description of an operation of the Account API."""

    schemes = ("bearer", "api_token")

    @property
    def scopes(self) -> list[str]:
        writes = self.method not in SAFE_METHODS
        return [WRITE if writes else READ, *self.view.needed_areas(writes=writes)]

    def query_parameters(self) -> dict[str, JSONSchema]:
        parameters: JSONSchema = {}
        if getattr(self.view, "pagination_class", None) is not None and self.method == "GET" and self.is_array:
            parameters |= page_parameters(MAX_PAGE_SIZE)
        if self.is_list and isinstance(self.view, Listing):
            orders = [f"{sign}{name}" for name in self.view.ordering_fields for sign in ("", "-")]
            parameters["order"] = {"type": "string", "enum": orders}
        if self.is_list and getattr(self.view, "filterset_class", None) is not None:
            parameters |= filter_parameters(self.view.filterset_class)
        return parameters | super().query_parameters()

    @property
    def is_array(self) -> bool:
        response = self.operation.response
        return isinstance(response, list) or (self.is_list and response is None)

    def header_parameters(self) -> list[str]:
        return [*super().header_parameters(), *(["Prefer"] if self.writes or self.is_list else [])]

    @property
    def bodies(self) -> dict[str, operations.BodySerializers] | Callable[..., JSONSchema] | None:
        """The serializers of the keys of the body, a function for its schema, or None if the body has only the token.

        The default is the serializer of the view, by the key of the resource.
        """
        if self.operation.key in operations.BODIES:
            return operations.BODIES[self.operation.key]
        writes = isinstance(self.view, ResourceViewSet) and self.view.action in ("create", "update", "upsert")
        keys = [self.view.key] if writes else self.operation.request
        return None if keys is None else dict.fromkeys(keys, self.view.serializer_class)

    @property
    def writes(self) -> bool:
        return self.bodies is not None

    @property
    def is_partial(self) -> bool:
        return self.view.action in ("update", "upsert")

    def body(self) -> JSONSchema | None:
        bodies = self.bodies
        if bodies is None:
            return None
        schema = bodies(self) if callable(bodies) else self.body_schema(bodies)
        content = self.body_content(schema)
        return {"required": "required" in schema, "content": dict.fromkeys((self.media_type, URL_ENCODED), content)}

    def body_schema(self, bodies: Mapping[str, operations.BodySerializers]) -> JSONSchema:
        properties: JSONSchema = {"api_token": operations.API_TOKEN}
        for key, serializers in bodies.items():
            schemas = [
                self.input_component(item_serializer)
                for item_serializer in (serializers if isinstance(serializers, tuple) else [serializers])
            ]
            properties[key] = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
        for key in getattr(self.view, "body_keys", ()):
            if key not in properties and self.view.action == "create":
                properties[key] = self.field(declared_fields(self.view.serializer_class)[key], "request")
        required = {"required": list(bodies)} if bodies else {}
        return {"type": "object", "properties": properties, "additionalProperties": True, **required}

    def input_component(self, serializer: type[ResourceSerializer]) -> JSONSchema:
        name = component_name(serializer).removeprefix("New")
        schema = self.input_schema(serializer, partial=self.is_partial)
        return self.component("schemas", f"{name}Changes" if self.is_partial else f"New{name}", schema)

    def response_schema(self, status: int) -> JSONSchema:
        key = self.operation.key
        if self.operation.response == "ok" and key not in operations.RESPONSES:
            return {"type": "string", "const": "ok"}
        response: Any = operations.RESPONSES.get(key, self.view.serializer_class)
        if not isinstance(response, type):
            return super().response_schema(status)
        schema = self.output_component(response)
        return array_of(schema) if self.is_array else schema

    def output_component(self, serializer: type[ResourceSerializer]) -> JSONSchema:
        return self.component("schemas", component_name(serializer), self.output_schema(serializer))

    def output_schema(self, serializer: type[ResourceSerializer]) -> JSONSchema:
        """Return the schema of a response, with the fields in the order of the response."""
        columns, names = columns_of(serializer), shape_of(serializer).nullable
        properties = {}
        for name in serializer.names:
            properties[name] = self.field(declared_fields(serializer)[name], "response")
            if name in names or (name in columns and columns[name].null):
                properties[name] = nullable(properties[name])
        schema = object_of(properties)
        return (
            add_typed_fields(schema, serializer, "response")
            if issubclass(serializer, AdditionalFieldsSerializer)
            else schema
        )

    def response_example(self, schema: JSONSchema) -> object:
        """Return the example of the operation with the values of the example of its object, and with null for the other fields."""
        response = self.operation.response
        if response is None and self.is_partial:
            (response,) = self.operation.request.values()
        return operations.complete([{}] if self.is_array and response is None else response or {}, schema, self.resolve)

    def headers(self, status: int) -> list[str]:
        conditions = {
            "X-Ignored-Fields": self.writes,
            "X-Pending-Links": self.writes,
            "X-Ignored-Parameters": self.is_list,
        }
        return [*super().headers(status), *(name for name, is_included in conditions.items() if is_included)]

    def error_statuses(self) -> set[int]:
        # Any request may have a body with the token.
        return super().error_statuses() | {403, 415}


class PublicSchema(OperationSchema):
    """A public operation, without credentials and rate limits."""

    def headers(self, status: int) -> list[str]:
        return ["X-Request-Id", "Cache-Control"]

    def header_parameters(self) -> list[str]:
        return []

    def error_statuses(self) -> set[int]:
        return {400, 404, 413, 503}


class PageSchema(PublicSchema):
    """The page that shows the document."""

    media_type = "text/html"
    error_format = "xml"


class DocumentSchema(PublicSchema):
    """The document, which is not sent again if it has not changed."""

    def headers(self, status: int) -> list[str]:
        return ["X-Request-Id", "ETag", "Cache-Control"]

    def header_parameters(self) -> list[str]:
        return ["If-None-Match"]

    def responses(self) -> JSONSchema:
        responses = super().responses()
        unchanged = {"description": "The document has not changed.", "headers": responses["200"]["headers"]}
        return {"200": responses.pop("200"), "304": unchanged, **responses}


operations.RESPONSES["read_openapi"] = {
    "type": "object",
    "properties": {"openapi": NAME, "info": {"type": "object"}, "paths": {"type": "object"}},
    "required": ["openapi", "info", "paths"],
}
operations.RESPONSES["show_interface"] = NAME
