"""The OpenAPI operations of the Forum API, derived from the shapes and serializers that write and read its documents."""

from typing import cast

from django.db.models import Model

from core.api.paging import DEFAULT_MAX_PAGE_SIZE
from core.api.serializers import ResourceSerializer
from core.api.views import TenantViewSet
from core.openapi.fields import WHITE_SPACE, nullable
from core.openapi.operations import BODIES
from core.openapi.schema import OperationSchema, page_parameters
from core.openapi.values import JSONSchema, object_of
from forum.xml.documents import DATETIME, INTEGER, ElementType

PAGES = page_parameters(DEFAULT_MAX_PAGE_SIZE)
TYPES = {INTEGER: {"type": "integer"}, DATETIME: {"type": "string", "format": "date-time"}}


class XMLOperationSchema(OperationSchema):
    """An operation of the Forum API. Its schemas describe values, not attributes: `type="integer"` is a number, `nil="true"` a null."""

    media_type = "application/xml"
    error_format = "xml"
    schemes = ("basic",)

    def path_parameters(self) -> dict[str, JSONSchema]:
        name = {
            "type": "string",
            "minLength": 1,
            "pattern": "^[^/]+$",
            "description": "The name of a category, in upper or lower case.",
        }
        return {"category_name": name} if "{category_name}" in self.path else super().path_parameters()

    def query_parameters(self) -> dict[str, JSONSchema]:
        return list_parameters() if self.is_list_of_posts else {}

    @property
    def is_list_of_posts(self) -> bool:
        return self.is_list and self.path != "/app/categories.xml"

    def body(self) -> JSONSchema | None:
        if self.is_list_of_posts and self.method == "POST":
            properties = {**list_parameters(), **{name: number_or_text(schema) for name, schema in PAGES.items()}}
            properties = {name.replace("_", "-"): schema for name, schema in properties.items()}
            schema = {"type": "object", "properties": properties, "additionalProperties": True, "xml": {"name": "hash"}}
        elif self.operation.key in BODIES:
            ((root, serializer),) = cast("dict[str, type[ResourceSerializer]]", BODIES[self.operation.key]).items()
            schema = self.element(root, serializer)
        else:
            return None
        return {"required": not self.is_list, "content": {self.media_type: self.body_content(schema)}}

    def element(self, root: str, serializer: type[ResourceSerializer]) -> JSONSchema:
        partial = cast(TenantViewSet, self.view).action == "update"
        schema = self.input_schema(serializer, partial=partial)
        schema["properties"] = {name.replace("_", "-"): field for name, field in schema["properties"].items()}
        if partial:
            # An element without children is treated like a missing one.
            schema["minProperties"] = 1
        name = (
            serializer.__name__.removesuffix("Serializer")
            .removesuffix("Element")
            .removeprefix("New")
            .removeprefix("Team")
        )
        return self.component(
            "schemas", f"{name}ChangesElement" if partial else f"New{name}Element", {**schema, "xml": {"name": root}}
        )

    def shape_component(self, name: str, shape: ElementType, model: type[Model]) -> JSONSchema:
        """Return a reference to the component that describes an element of this shape."""
        columns = {column.name: column for column in model._meta.fields}
        properties = {}
        for field, column in zip(shape.fields, shape.columns, strict=True):
            schema = TYPES.get(shape.fields[field], {"type": "string"})
            properties[field] = nullable(schema) if column in columns and columns[column].null else schema
        return self.component("schemas", name, {**object_of(properties), "xml": {"name": shape.name}})

    def error_statuses(self) -> set[int]:
        reads_body = self.is_list_of_posts or self.body() is not None
        return super().error_statuses() | ({415} if reads_body else set())


def list_parameters() -> dict[str, JSONSchema]:
    order = "new, old, top, commented, active, or the code of a status, which keeps the posts in it, newest first."
    return {**PAGES, "order": {"type": "string", "description": order}}


def number_or_text(number: JSONSchema) -> JSONSchema:
    """Return the schema of a number, or of a text with its digits."""
    digits = "[1-9][0-9]?|100" if "maximum" in number else "[1-9][0-9]{0,97}"
    return {**number, "type": ["integer", "string"], "pattern": f"^[{WHITE_SPACE}]*0?({digits})[{WHITE_SPACE}]*$"}


def array(name: str, items: JSONSchema) -> JSONSchema:
    return {"type": "array", "items": items, "xml": {"name": name, "wrapped": True}}
