"""The XML documents of the Forum API, in the conventions of Rails (`docs/interface.md` shows each), and its operations in the OpenAPI document.

An `ElementType` declares the child elements of an element. It builds the tags once, so that writing a row only joins them
with the values.
"""

from collections.abc import Iterable, Sequence
from typing import Any, cast
from zoneinfo import ZoneInfo

from django.db.models import Model

from core.api.paging import DEFAULT_MAX_PAGE_SIZE
from core.api.serializers import ResourceSerializer, format_time
from core.api.views import TenantViewSet
from core.db.text import escape
from core.openapi.fields import WHITE_SPACE, nullable
from core.openapi.operations import BODIES
from core.openapi.schema import OperationSchema, page_parameters
from core.openapi.values import JSONSchema, object_of

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

STRING, INTEGER, DATETIME = "string", "integer", "datetime"
# The types of the columns that are not strings.
TYPES = {
    **dict.fromkeys(("id", "category_id", "responsible_id", "comments_cache", "votes_cache"), INTEGER),
    **dict.fromkeys(("created_at", "updated_at"), DATETIME),
}
# The maximum number of ancestors of an element of an `ElementType` in a document.
MAX_DEPTH = 2


class ElementType:
    """An element with a child element for each column. `fields` maps the names of these, with hyphens, to their types."""

    def __init__(self, name: str, *columns: str) -> None:
        self.name = name
        self.columns = columns
        self.fields = {column.replace("_", "-"): TYPES.get(column, STRING) for column in columns}
        if list(self.fields) != sorted(self.fields):
            raise ValueError("The fields must be in alphabetical order.")
        self._lines = [self._lines_at(depth) for depth in range(MAX_DEPTH + 1)]

    def _lines_at(self, depth: int) -> tuple[str, list[tuple[str, str, str, str]], str]:
        """Return the start tag, the children and the end tag, indented by two spaces for each level.

        A child is a tuple of its type, its start tag, its end tag, and the whole element for a null.
        """
        margin, children = "  " * depth, []
        for field, kind in self.fields.items():
            type_attribute = "" if kind == STRING else f' type="{kind}"'
            nil = f'{margin}  <{field}{type_attribute} nil="true"/>\n'
            children.append((kind, f"{margin}  <{field}{type_attribute}>", f"</{field}>\n", nil))
        return f"{margin}<{self.name}>\n", children, f"{margin}</{self.name}>\n"

    def write(self, values: Sequence[Any], zone: ZoneInfo, *, depth: int = 0) -> str:
        """Return the element as text. `values` are in the order of the fields."""
        start, children, end = self._lines[depth]
        text = start
        for (kind, opening, closing, nil), value in zip(children, values, strict=True):
            if value is None:
                text += nil
            elif kind == STRING:
                text += opening + escape(value) + closing
            elif kind == INTEGER:
                text += f"{opening}{value}{closing}"
            else:
                text += f"{opening}{format_time(value, zone)}{closing}"
        return text + end


def array(name: str, shape: ElementType, rows: Iterable[Sequence[object]], zone: ZoneInfo, *, depth: int = 0) -> str:
    """Return an element of type `array` with an element for each row."""
    margin = "  " * depth
    items = "".join(shape.write(row, zone, depth=depth + 1) for row in rows)
    if not items:
        return f'{margin}<{name} type="array"/>\n'
    return f'{margin}<{name} type="array">\n{items}{margin}</{name}>\n'


def document(*parts: str) -> bytes:
    """Return the XML document. `parts` are the parts of the text of its root element."""
    return (DECLARATION + "".join(parts)).encode()


USER = ElementType("user", "created_at", "description", "email", "login", "name", "notification", "updated_at", "www")
POST_IN_LIST = ElementType(
    "post", "agent", "comments_cache", "content", "created_at", "id", "title", "updated_at", "votes_cache"
)
POST = ElementType(
    "post",
    "agent",
    "category_id",
    "comments_cache",
    "content",
    "created_at",
    "id",
    "kind",
    "responsible_id",
    "status",
    "title",
    "updated_at",
    "votes_cache",
)
COMMENT = ElementType("comment", "agent", "comment", "created_at", "id", "kind", "updated_at")
CATEGORY = ElementType("category", "id", "name")


# The OpenAPI document

PAGES = page_parameters(DEFAULT_MAX_PAGE_SIZE)
ORDER = "new, old, top, commented, active, or the code of a status, which keeps the posts in it, newest first."
LIST_PARAMETERS: dict[str, JSONSchema] = {**PAGES, "order": {"type": "string", "description": ORDER}}
SCHEMAS = {INTEGER: {"type": "integer"}, DATETIME: {"type": "string", "format": "date-time"}}


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
        return LIST_PARAMETERS if self.is_list_of_posts else {}

    @property
    def is_list_of_posts(self) -> bool:
        return self.is_list and self.path != "/app/categories.xml"

    def body(self) -> JSONSchema | None:
        if self.is_list_of_posts and self.method == "POST":
            properties = {**LIST_PARAMETERS, **{name: number_or_text(schema) for name, schema in PAGES.items()}}
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
        name = f"{root.capitalize()}ChangesElement" if partial else f"New{root.capitalize()}Element"
        return self.component("schemas", name, {**schema, "xml": {"name": root}})

    def shape_component(self, name: str, shape: ElementType, model: type[Model]) -> JSONSchema:
        """Return a reference to the component that describes an element of this shape."""
        columns = {column.name: column for column in model._meta.fields}
        properties = {}
        for field, column in zip(shape.fields, shape.columns, strict=True):
            schema = SCHEMAS.get(shape.fields[field], {"type": "string"})
            properties[field] = nullable(schema) if column in columns and columns[column].null else schema
        return self.component("schemas", name, {**object_of(properties), "xml": {"name": shape.name}})

    def error_statuses(self) -> set[int]:
        reads_body = self.is_list_of_posts or self.body() is not None
        return super().error_statuses() | ({415} if reads_body else set())


def number_or_text(number: JSONSchema) -> JSONSchema:
    """Return the schema of a number, or of a text with its digits."""
    digits = "[1-9][0-9]?|100" if "maximum" in number else "[1-9][0-9]{0,97}"
    return {**number, "type": ["integer", "string"], "pattern": f"^[{WHITE_SPACE}]*0?({digits})[{WHITE_SPACE}]*$"}


def array_schema(name: str, items: JSONSchema) -> JSONSchema:
    return {"type": "array", "items": items, "xml": {"name": name, "wrapped": True}}
