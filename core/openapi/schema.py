"""Operations of the document, derived from the viewsets that serve them."""

from typing import Any, ClassVar

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from rest_framework.serializers import Serializer

from core.api.fields import WireField
from core.api.formats import URL_ENCODED
from core.api.idempotency import accepts_key
from core.api.lists import MAX_PAGE_SIZE, Listing
from core.api.paging import SIZE
from core.api.resources import ResourceViewSet
from core.api.serializers import ResourceSerializer
from core.openapi.components import API_TOKEN, COUNTED, ERRORS, HEADERS, PARAMETERS, REFUSALS, SECURITY
from core.openapi.fields import WireFieldExtension, nullable
from core.openapi.operations import OPERATIONS, SHAPES, Operation, Shape, Takes

JSONSchema = dict[str, Any]
ID = {"type": "integer", "minimum": 1, "maximum": 10**18 - 1}


def pages(largest: int) -> dict[str, JSONSchema]:
    """The parameters of a page that has at most `largest` rows."""
    return {
        "page": {"type": "integer", "minimum": 1, "description": "From 1; past the end is an empty list."},
        "per_page": {
            "type": "integer",
            "minimum": 1,
            "maximum": largest,
            "default": SIZE,
            "description": "How many there are on a page.",
        },
    }


# Of the JSON lists.
PAGES = pages(MAX_PAGE_SIZE)


class OperationSchema(AutoSchema):
    """What both generations share."""

    media_type: ClassVar[str]
    # Which refusals are theirs.
    language: ClassVar[str]

    def get_operation(self, path, path_regex, path_prefix, method, registry) -> JSONSchema:
        self.registry, self.path, self.method = registry, path, method
        said = self.said
        body = self.body()
        return {
            "operationId": said.id,
            "summary": said.summary,
            "description": said.description,
            "tags": [said.tag],
            "parameters": self.parameters(),
            **({"requestBody": body} if body else {}),
            "security": self.security(),
            "responses": self.responses(),
        }

    @property
    def said(self) -> Operation:
        operation = OPERATIONS.get(f"{self.method} {self.path}")
        if operation is None:
            raise LookupError(
                f"{self.method} {self.path} is not described: call operate… for it in the room's openapi module"
            )
        return operation

    @property
    def is_list(self) -> bool:
        return self.view.action == "list"

    @property
    def accepts_key(self) -> bool:
        """Whether a request may have an Idempotency-Key."""
        return accepts_key(self.method, self.view.action)

    def component(self, kind: str, name: str, definition: JSONSchema) -> JSONSchema:
        found = ResolvedComponent(name, kind, schema=definition, object=name)
        self.registry.register_on_missing(found)
        return found.ref

    def field(self, field: WireField, direction: str) -> JSONSchema:
        return WireFieldExtension.get_match(field).map_serializer_field(self, direction)

    # What is asked

    def parameters(self) -> list[JSONSchema]:
        path = {"id": ID} if "{id}" in self.path else {}
        found = [self.parameter("path", name, schema) for name, schema in {**path, **self.path_parameters()}.items()]
        found += [self.parameter("query", name, schema) for name, schema in self.query_parameters().items()]
        return found + [self.component("parameters", name, PARAMETERS[name]) for name in self.header_parameters()]

    def parameter(self, place: str, name: str, schema: JSONSchema) -> JSONSchema:
        schema = dict(schema)
        found: JSONSchema = {"in": place, "name": name, "schema": schema}
        if "description" in schema:
            found["description"] = schema.pop("description")
        if place == "path":
            found["required"] = True
        elif schema.get("type") == "object":
            found |= {"style": "deepObject", "explode": True, "required": schema.get("minProperties", 0) > 0}
        elif name not in PAGES:
            # A blank one is none.
            found["allowEmptyValue"] = True
        if name in self.said.parameters:
            found["example"] = self.said.parameters[name]
        return found

    def path_parameters(self) -> dict[str, JSONSchema]:
        return {}

    def query_parameters(self) -> dict[str, JSONSchema]:
        return self.said.asks()

    def header_parameters(self) -> list[str]:
        return [*(["Idempotency-Key"] if self.accepts_key else []), *self.said.heeds]

    def body(self) -> JSONSchema | None:
        raise NotImplementedError

    def security(self) -> list[JSONSchema]:
        raise NotImplementedError

    def secured_by(self, *names: str) -> list[JSONSchema]:
        for name in names:
            self.component("securitySchemes", name, SECURITY[name])
        return [{name: []} for name in names]

    def shape_of(self, serializer: type[Serializer]) -> Shape:
        return SHAPES.get(serializer, Shape())

    def input_schema(self, serializer: type[Serializer], *, partial: bool) -> JSONSchema:
        """What is accepted: as serializers read it, only what is sent, and what is unknown is ignored."""
        writable = {name: field for name, field in serializer._declared_fields.items() if not field.read_only}
        schema: JSONSchema = {
            "type": "object",
            "properties": {name: self.field(field, "request") for name, field in writable.items()},
            "additionalProperties": True,
        }
        required = [name for name, field in writable.items() if field.required]
        if required and not partial:
            schema["required"] = required
        return self.shape_of(serializer).refine_input(schema, partial)

    # What is answered

    def responses(self) -> JSONSchema:
        found = {}
        for status in self.said.statuses:
            content = {"schema": self.answered(status)}
            if status == self.said.statuses[0]:
                content["examples"] = {"answer": {"value": self.said.answer}}
            found[str(status)] = {
                "description": {200: "Done", 201: "Made"}[status],
                "headers": {name: self.component("headers", name, HEADERS[name]) for name in self.headers(status)},
                "content": {self.media_type: content},
            }
        if self.language == "xml":
            self.component("schemas", "Errors", ERRORS)
        for status in sorted(self.refusals() | self.said.refusals):
            name, refusal = REFUSALS[self.language, status]
            found[str(status)] = self.component("responses", name, refusal)
            for header in refusal["headers"]:
                self.component("headers", header, HEADERS[header])
        return found

    def answered(self, status: int) -> JSONSchema:
        raise NotImplementedError

    def headers(self, status: int) -> list[str]:
        names = list(COUNTED)
        if status == 201:
            names.append("Location")
        if "page" in self.query_parameters():
            names.append("Link")
        if self.accepts_key:
            names.append("Idempotent-Replayed")
        return names

    def refusals(self) -> set[int]:
        found = {400, 401, 404, 413, 429, 503}
        if self.accepts_key:
            found |= {409, 422}
        if self.query_parameters() or self.body():
            found |= {422}
        return found


class JSONOperationSchema(OperationSchema):
    """Generation B."""

    media_type = "application/json"
    language = "json"

    def security(self) -> list[JSONSchema]:
        return self.secured_by("bearer", "api_token")

    def query_parameters(self) -> dict[str, JSONSchema]:
        if not (self.is_list and isinstance(self.view, Listing)):
            return self.said.asks()
        orders = [f"{sign}{name}" for name in self.view.orders for sign in ("", "-")]
        filters = self.view.filters.base_filters
        return {
            **PAGES,
            "order": {"type": "string", "enum": orders},
            **{name: WireFieldExtension.get_match(filter.wire).asked() for name, filter in filters.items()},
        }

    def header_parameters(self) -> list[str]:
        return [*super().header_parameters(), *(["Prefer"] if self.writes or self.is_list else [])]

    @property
    def writes(self) -> bool:
        return self.takes is not None or self.said.accepts is not None

    @property
    def takes(self) -> dict[str, Takes] | None:
        """What the body has under its keys; None where it has nothing but the token."""
        if self.said.takes is not None or not isinstance(self.view, ResourceViewSet):
            return self.said.takes
        writes = self.view.action in ("create", "update", "upsert")
        return {self.view.key: self.view.serializer_class} if writes else None

    @property
    def is_partial(self) -> bool:
        return self.view.action in ("update", "upsert")

    def body(self) -> JSONSchema | None:
        if not self.writes:
            return None
        schema = self.said.accepts(self) if self.said.accepts is not None else self.body_schema()
        content: JSONSchema = {"schema": schema}
        if self.said.body is not None:
            content["examples"] = {"request": {"value": self.said.body}}
        return {"required": "required" in schema, "content": dict.fromkeys((self.media_type, URL_ENCODED), content)}

    def body_schema(self) -> JSONSchema:
        properties: JSONSchema = {"api_token": API_TOKEN}
        for key, taken in self.takes.items():
            schemas = [self.input_component(each) for each in (taken if isinstance(taken, tuple) else (taken,))]
            properties[key] = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
        for key in getattr(self.view, "body_keys", ()):
            if key not in properties and self.view.action == "create":
                field = self.view.serializer_class._declared_fields[key]
                properties[key] = self.field(field, "request")
        schema = {"type": "object", "properties": properties, "additionalProperties": True}
        if self.takes:
            schema["required"] = list(self.takes)
        return schema

    def input_component(self, serializer: type[ResourceSerializer]) -> JSONSchema:
        name = serializer.__name__.removesuffix("Serializer").removeprefix("New")
        schema = self.input_schema(serializer, partial=self.is_partial)
        return self.component("schemas", f"{name}Changes" if self.is_partial else f"New{name}", schema)

    def answered(self, status: int) -> JSONSchema:
        gives = self.said.gives or self.view.serializer_class
        if isinstance(gives, dict):
            return gives
        if not isinstance(gives, type):
            return gives(self, status)
        schema = self.output_component(gives)
        return {"type": "array", "items": schema} if isinstance(self.said.answer, list) else schema

    def output_component(self, serializer: type[ResourceSerializer]) -> JSONSchema:
        return self.component("schemas", serializer.__name__.removesuffix("Serializer"), self.output_schema(serializer))

    def output_schema(self, serializer: type[ResourceSerializer]) -> JSONSchema:
        """Every field that is answered, in the order of the wire."""
        shape = self.shape_of(serializer)
        columns = {} if shape.model is None else {column.name: column for column in shape.model._meta.fields}
        properties = {}
        for name in serializer.names:
            properties[name] = self.field(serializer._declared_fields[name], "response")
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
        named = {"X-Ignored-Fields": self.writes, "X-Pending-Links": self.writes, "X-Ignored-Parameters": self.is_list}
        return [*super().headers(status), *(name for name, is_named in named.items() if is_named)]

    def refusals(self) -> set[int]:
        # Any request may have a body, with the token in it.
        return super().refusals() | {403, 415}


class PublicSchema(OperationSchema):
    """What needs no credentials and is counted for nobody."""

    media_type = "application/json"
    language = "json"

    def security(self) -> list[JSONSchema]:
        return []

    def header_parameters(self) -> list[str]:
        return ["If-None-Match"]

    def body(self) -> None:
        return None

    def answered(self, status: int) -> JSONSchema:
        return self.said.gives

    def headers(self, status: int) -> list[str]:
        return ["X-Request-Id", "ETag", "Cache-Control"]

    def responses(self) -> JSONSchema:
        found = super().responses()
        headers = found["200"]["headers"]
        return {"200": found.pop("200"), "304": {"description": "It has not changed", "headers": headers}, **found}

    def refusals(self) -> set[int]:
        return {400, 404, 413, 503}


class PageSchema(PublicSchema):
    media_type = "text/html"
    language = "xml"

    def header_parameters(self) -> list[str]:
        return []

    def headers(self, status: int) -> list[str]:
        return ["X-Request-Id", "Cache-Control"]

    def responses(self) -> JSONSchema:
        return OperationSchema.responses(self)
