"""The tables of fields: types, limits and defaults, read from the JSON Schemas of the OpenAPI document."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from core.openapi.document import document, resolve
from core.openapi.values import JSONSchema
from core.pages.formatting import number_text

# The maximum number of choices that are listed. The number of further ones is shown.
MAX_CHOICES = 12
# Larger bounds are not listed: they are those of 64-bit integers.
MAX_LISTED_BOUND = 10**17


@dataclass(frozen=True)
class FieldRow:
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

    rows: tuple[FieldRow, ...] = ()
    # The name of the object, which begins the anchors of its fields. "" for a table without anchors.
    name: str = ""

    @property
    def has_limits(self) -> bool:
        return any(row.limits or row.choices for row in self.rows)

    @property
    def has_defaults(self) -> bool:
        return any(row.default for row in self.rows)


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
    definitions = [resolve(parameter) for parameter in parameters]
    properties = {
        definition["name"]: {"description": definition.get("description", ""), **definition["schema"]}
        for definition in definitions
    }
    required = [definition["name"] for definition in definitions if definition.get("required")]
    return field_table({"properties": properties, "required": required}, {})


def make_field(
    name: str, request: JSONSchema | None, response: JSONSchema | None, *, is_required: bool = False
) -> FieldRow:
    """Return the row of a field from its schemas in requests and responses, at least one of which exists."""
    accepted = request or {}
    shown, is_request = (accepted, True) if response is None else (response, False)
    type, contained = describe_type(shown, is_request=is_request)
    types = {type for type, _option in shown_types(shown, is_request=is_request)}
    choices = choices_of(accepted) or choices_of(shown)
    return FieldRow(
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
        default=to_json_text(accepted["default"]) if "default" in accepted else "",
        description=accepted.get("description") or shown.get("description", ""),
    )


# Schemas


def component_name(schema: JSONSchema) -> str:
    """Return the name of the object that a reference points to, or "" for another schema.

    The schemas of a new row (`NewClient`) and of changes (`ClientChanges`) belong to one object.
    """
    name: str = schema.get("$ref", "").rpartition("/")[2]
    return name.removeprefix("New").replace("Changes", "")


def types_of(schema: JSONSchema) -> Iterator[tuple[str, JSONSchema]]:
    """Yield each type of a schema with the alternative that has it. Omit the alternatives that only allow a blank text."""
    options = schema.get("anyOf") or schema.get("oneOf")
    if options and "properties" not in schema:
        for option in options:
            if option and not is_blank_text(option):
                yield from types_of(option)
        return
    names = {bool: "boolean", int: "integer", str: "string", type(None): "null"}
    is_object = "$ref" in schema or "properties" in schema
    types = schema.get("type", ["object"] if is_object else [names[type(value)] for value in values_of(schema)])
    for name in [types] if isinstance(types, str) else types:
        yield name, schema


def is_blank_text(schema: JSONSchema) -> bool:
    """Return whether the schema is that of a blank text, which many fields accept in place of null."""
    return schema.get("maxLength") == 0 or (
        schema.get("type") == "string" and "pattern" in schema and "maxLength" not in schema and "format" not in schema
    )


def properties_of(schema: JSONSchema) -> dict[str, JSONSchema]:
    """Return the schemas of the fields of an object, which may have alternatives."""
    return {name: inner for _type, option in types_of(schema) for name, inner in option.get("properties", {}).items()}


def values_of(schema: JSONSchema) -> list[object]:
    """Return the only values that a schema allows. Return an empty list if it does not list them."""
    values: list[object] = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    return values


def shown_types(schema: JSONSchema, *, is_request: bool) -> Iterator[tuple[str, JSONSchema]]:
    """Yield the types that are shown, without null.

    Of the types that an alternative of a request may have, the first is shown. The others are forms of the same value, such as a number
    as a text.
    """
    previous = None
    for name, option in types_of(schema):
        if name != "null" and not (is_request and option is previous):
            yield name, option
            previous = option


# Descriptions


def describe_type(schema: JSONSchema, *, is_request: bool) -> tuple[str, str]:
    """Return the type in the words of JSON, and the name of the object that it contains, or ""."""
    # A dictionary, because two alternatives may have the same type.
    words: dict[str, None] = {}
    contained = ""
    for name, option in shown_types(schema, is_request=is_request):
        contained = component_name(option) or contained
        if name == "array":
            inner, contained = describe_type(option.get("items", {}), is_request=is_request)
            words[f"array of {inner}" if inner else "array"] = None
        else:
            words[f"string ({option['format']})" if name == "string" and "format" in option else name] = None
    return " | ".join(words), contained


def describe_null(request: JSONSchema | None, response: JSONSchema | None) -> str:
    """Return in words whether a field may be null. Some fields accept null for no value or the default, and never return it."""
    accepts, returns = ("null" in dict(types_of(schema or {})) for schema in (request, response))
    if accepts and not returns and response is not None:
        return _("in requests")
    return _("yes") if accepts or returns else _("no")


def limits_of(schema: JSONSchema, types: set[str]) -> Iterator[str]:
    """Yield the limits of values of these types."""
    for name, option in types_of(schema):
        if name not in types:
            continue
        if name == "string":
            yield from limits_of_length(option)
        elif name in ("integer", "number"):
            yield from limits_of_number(option)
        elif name == "array" and "maxItems" in option:
            yield _("up to %(max)s items") % {"max": number_text(option["maxItems"])}
        elif name == "object" and "maxProperties" in option:
            yield _("up to %(max)s names") % {"max": number_text(option["maxProperties"])}


def limits_of_length(schema: JSONSchema) -> Iterator[str]:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    numbers = {"min": number_text(least), "max": number_text(most or 0)}
    if most is not None:
        yield (_("%(min)s to %(max)s characters") if least else _("up to %(max)s characters")) % numbers
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
    choices: dict[str, None] = {}
    for _type, option in types_of(schema):
        choices |= dict.fromkeys([*map(to_json_text, values_of(option)), *choices_of(option.get("items", {}))])
    return list(choices)


def to_json_text(value: object) -> str:
    """Return a value as JSON, without the quotation marks of a string."""
    return json.dumps(value, ensure_ascii=False).strip('"')
