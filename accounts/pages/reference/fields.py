"""The tables of fields: types, limits and defaults, read from the JSON Schemas of the OpenAPI document."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from core.openapi.document import JSONSchema, document, resolve
from core.pages.numbers import number_text

# The maximum number of choices that are listed. The number of further ones is shown.
MAX_CHOICES = 12
# Larger bounds are not listed: they are those of 64-bit integers.
MAX_LISTED_BOUND = 10**17


@dataclass(frozen=True)
class Field:
    """A row of a table."""

    name: str
    type: str
    # Whether the field may be null, in words.
    null: str
    # The name of the object that the field contains, or "".
    object: str = ""
    is_required: bool = False
    # False for a field that only responses have, or that only requests have.
    in_requests: bool = True
    in_responses: bool = True
    limits: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    more_choices: int = 0
    default: str = ""
    description: str = ""


@dataclass(frozen=True)
class FieldTable:
    """The fields of an object in requests and responses, or the parameters of a request."""

    rows: tuple[Field, ...] = ()
    # The name of the object, which begins the anchors of its fields. "" for a table without anchors.
    name: str = ""

    @property
    def has_limits(self) -> bool:
        return any(row.limits or row.choices for row in self.rows)

    @property
    def has_defaults(self) -> bool:
        return any(row.default for row in self.rows)


# Tables


def component_table(name: str) -> FieldTable:
    """Return the table of an object of the document, such as `Client`, from the schemas `Client`, `NewClient` and `ClientChanges`."""
    schemas = document()["components"]["schemas"]
    suffix = "Element" if name.endswith("Element") else ""
    new = schemas.get(f"New{name}", {})
    changes = schemas.get(f"{name.removesuffix(suffix)}Changes{suffix}", {})
    request = {**new, "properties": {**changes.get("properties", {}), **new.get("properties", {})}}
    return field_table(request, schemas.get(name, {}), name)


def field_table(request: JSONSchema, response: JSONSchema, name: str = "") -> FieldTable:
    """Return the table of an object from its schemas in requests and responses. The fields have the order of responses."""
    accepted, answered = properties_of(request), properties_of(response)
    required = request.get("required", [])
    return FieldTable(
        tuple(
            make_field(field, accepted.get(field), answered.get(field), is_required=field in required)
            for field in {**answered, **accepted}
        ),
        name,
    )


def parameter_table(parameters: Iterable[JSONSchema]) -> FieldTable:
    """Return the table of the parameters of an operation."""
    definitions = [resolve(parameter) for parameter in parameters]
    return FieldTable(
        tuple(
            make_field(
                definition["name"],
                {**definition["schema"], "description": definition.get("description", "")},
                None,
                is_required=definition.get("required", False),
            )
            for definition in definitions
        )
    )


def make_field(
    name: str, request: JSONSchema | None, response: JSONSchema | None, *, is_required: bool = False
) -> Field:
    """Return the row of a field from its schemas in requests and responses, at least one of which exists."""
    accepted = request or {}
    shown = accepted if response is None else response
    types = json_types(shown, is_request=response is None)
    type, contained = describe_type(shown, is_request=response is None)
    choices = choices_of(accepted) or choices_of(shown)
    return Field(
        name=name,
        type=type or "any",
        null=describe_null(request, response),
        object=contained,
        is_required=is_required,
        in_requests=request is not None,
        in_responses=response is not None,
        limits=tuple(dict.fromkeys(limits_of(accepted, types))),
        choices=tuple(choices[:MAX_CHOICES]),
        more_choices=max(0, len(choices) - MAX_CHOICES),
        default=describe_default(accepted),
        description=accepted.get("description") or shown.get("description", ""),
    )


# Schemas


def component_name(schema: JSONSchema) -> str:
    """Return the name of the object that a reference points to, or "" for another schema.

    The schemas of a new row (`NewClient`) and of changes (`ClientChanges`) belong to one object.
    """
    name = schema.get("$ref", "").rpartition("/")[2]
    return name.removeprefix("New").replace("Changes", "")


def alternatives(schema: JSONSchema) -> Iterator[JSONSchema]:
    """Yield the alternatives of a schema, or the schema itself if it has none. Omit those that only allow a blank text."""
    options = schema.get("anyOf") or schema.get("oneOf")
    if not options or "properties" in schema:
        yield schema
        return
    for option in options:
        if option and not is_blank_text(option):
            yield from alternatives(option)


def is_blank_text(schema: JSONSchema) -> bool:
    """Return whether the schema is that of a blank text, which many fields accept in place of null."""
    return schema.get("maxLength") == 0 or (
        schema.get("type") == "string" and "pattern" in schema and "maxLength" not in schema and "format" not in schema
    )


def properties_of(schema: JSONSchema) -> dict[str, JSONSchema]:
    """Return the schemas of the fields of an object, which may have alternatives."""
    return {name: inner for option in alternatives(schema) for name, inner in option.get("properties", {}).items()}


def listed_values(schema: JSONSchema) -> list[Any]:
    """Return the only values that a schema allows. Return an empty list if it does not list them."""
    return schema.get("enum") or ([schema["const"]] if "const" in schema else [])


def types_of(schema: JSONSchema) -> list[str]:
    """Return the values of the keyword `type`, or the types of the listed values."""
    if "type" in schema:
        types = schema["type"]
        return types if isinstance(types, list) else [types]
    names = {bool: "boolean", int: "integer", str: "string"}
    return list(dict.fromkeys(names[type(value)] for value in listed_values(schema)))


def shown_types(option: JSONSchema, *, is_request: bool) -> list[str]:
    """Return the types that are shown for an alternative, without null.

    Of the types that a request may have, the first is shown. The others are forms of the same value, such as a number as a text.
    """
    types = [type for type in types_of(option) if type != "null"]
    return types[:1] if is_request else types


def json_types(schema: JSONSchema, *, is_request: bool) -> set[str]:
    return {type for option in alternatives(schema) for type in shown_types(option, is_request=is_request)}


# Descriptions


def describe_type(schema: JSONSchema, *, is_request: bool) -> tuple[str, str]:
    """Return the type in the words of JSON, and the name of the object that it contains, or ""."""
    # A dictionary, because two alternatives may have the same type.
    words: dict[str, None] = {}
    contained = ""
    for option in alternatives(schema):
        if "$ref" in option:
            contained = component_name(option)
            words["object"] = None
        for type in shown_types(option, is_request=is_request):
            if type == "array":
                inner, contained = describe_type(option.get("items", {}), is_request=is_request)
                words[f"array of {inner}" if inner else "array"] = None
            elif type == "string" and "format" in option:
                words[f"string ({option['format']})"] = None
            else:
                words[type] = None
    return " | ".join(words), contained


def describe_null(request: JSONSchema | None, response: JSONSchema | None) -> str:
    """Return in words whether a field may be null. Some fields accept null for no value or the default, and never return it."""
    accepts, returns = (
        any("null" in types_of(option) for option in [schema or {}, *alternatives(schema or {})])
        for schema in (request, response)
    )
    if accepts and not returns and response is not None:
        return _("in requests")
    return _("yes") if accepts or returns else _("no")


def limits_of(schema: JSONSchema, types: set[str]) -> Iterator[str]:
    """Yield the limits of values of these types."""
    for option in alternatives(schema):
        option_types = types.intersection(types_of(option))
        if "string" in option_types:
            yield from limits_of_length(option)
        if "array" in option_types and "maxItems" in option:
            yield _("up to %(max)s items") % {"max": number_text(option["maxItems"])}
        if "object" in option_types and "maxProperties" in option:
            yield _("up to %(max)s names") % {"max": number_text(option["maxProperties"])}
        if option_types & {"integer", "number"}:
            yield from limits_of_number(option)


def limits_of_length(schema: JSONSchema) -> Iterator[str]:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    numbers = {"min": number_text(least), "max": number_text(most or 0)}
    if least and most is not None:
        yield _("%(min)s to %(max)s characters") % numbers
    elif most is not None:
        yield _("up to %(max)s characters") % numbers
    elif least:
        yield _("at least %(min)s characters") % numbers


def limits_of_number(schema: JSONSchema) -> Iterator[str]:
    for keyword, sign in (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("exclusiveMaximum", "<")):
        bound = schema.get(keyword)
        if bound is not None and abs(bound) < MAX_LISTED_BOUND:
            yield f"{sign}\N{NO-BREAK SPACE}{number_text(bound)}"
    if "multipleOf" in schema:
        places = len(f"{schema['multipleOf']:f}".rstrip("0").partition(".")[2])
        yield _("up to %(n)s decimal places") % {"n": places}


def choices_of(schema: JSONSchema) -> list[str]:
    """Return the values that a field, or each item of an array, may have."""
    choices = []
    for option in alternatives(schema):
        choices += [to_json_text(value) for value in listed_values(option)]
        if "items" in option:
            choices += choices_of(option["items"])
    return choices


def describe_default(schema: JSONSchema) -> str:
    return to_json_text(schema["default"]) if "default" in schema else ""


def to_json_text(value: Any) -> str:
    """Return a value as JSON, without the quotation marks of a string."""
    return json.dumps(value, ensure_ascii=False).strip('"')
