"""The tables of fields: types, limits and defaults, read from the JSON Schemas of the OpenAPI document."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.utils.formats import number_format as format_number
from django.utils.translation import gettext as _

from core.openapi.document import document

JSONSchema = dict[str, Any]

# The number of choices that are listed. The others are counted.
MAX_CHOICES = 12
# Bounds from here on are those of 64 bits and not listed.
MAX_LISTED_BOUND = 10**17


@dataclass(frozen=True)
class Field:
    """A row of a table."""

    name: str
    type: str
    # The name of the object that the field contains; "" if it contains none.
    object: str = ""
    accepts_null: bool = False
    is_required: bool = False
    # False for a field that only responses have, or that only requests have.
    in_requests: bool = True
    in_responses: bool = True
    limits: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    more_choices: int = 0
    default: str = ""
    description: str = ""


class FieldRows(tuple[Field, ...]):
    """The rows of a table, which has no column that would be empty in all rows."""

    __slots__ = ()

    @property
    def have_limits(self) -> bool:
        return any(field.limits or field.choices for field in self)

    @property
    def have_defaults(self) -> bool:
        return any(field.default for field in self)


@dataclass(frozen=True)
class ObjectTable:
    """The fields of an object in requests and responses."""

    name: str
    fields: FieldRows = field(default=FieldRows())


def component_name(schema: JSONSchema) -> str:
    """Return the name of the object that a reference is about; "" for another schema.

    The schemas of a new row (`NewClient`) and of changes (`ClientChanges`) belong to one object.
    """
    name = schema.get("$ref", "").rpartition("/")[2]
    return name.removeprefix("New").replace("Changes", "")


def resolve(schema: JSONSchema) -> JSONSchema:
    """Return the schema that a reference points to, or the schema itself."""
    while "$ref" in schema:
        kind, name = schema["$ref"].split("/")[-2:]
        schema = document()["components"][kind][name]
    return schema


def alternatives(schema: JSONSchema) -> Iterator[JSONSchema]:
    """Yield the schemas of which a value has one, without those that only allow a blank text."""
    options = schema.get("anyOf") or schema.get("oneOf")
    if not options or "properties" in schema:
        yield schema
        return
    for option in options:
        if option and not is_blank_text(option):
            yield from alternatives(option)


def is_blank_text(schema: JSONSchema) -> bool:
    """Return whether the schema is that of a blank text, which many fields accept for null."""
    return schema.get("maxLength") == 0 or (
        schema.get("type") == "string" and "pattern" in schema and "maxLength" not in schema and "format" not in schema
    )


def types_of(schema: JSONSchema) -> list[str]:
    if "const" in schema and "type" not in schema:
        return [type_of_constant(schema["const"])]
    types = schema.get("type", [])
    return types if isinstance(types, list) else [types]


def type_of_constant(value: Any) -> str:
    return "boolean" if isinstance(value, bool) else "integer" if isinstance(value, int) else "string"


def describe_type(schema: JSONSchema, *, is_request: bool) -> tuple[str, str]:
    """Return the type in the words of JSON, and the name of the object that it contains, or "".

    Of the types that a request may have, the first is shown. The others are forms of the same value, such as a number as a text.
    """
    words: dict[str, None] = {}
    contained = ""
    for option in alternatives(schema):
        if "$ref" in option:
            contained = component_name(option)
            words["object"] = None
            continue
        types = [type for type in types_of(option) if type != "null"]
        for type in types[:1] if is_request else types:
            if type == "array":
                inner, contained = describe_type(option.get("items", {}), is_request=is_request)
                words[f"array of {inner}" if inner else "array"] = None
            elif type == "string" and "format" in option:
                words[f"string ({option['format']})"] = None
            else:
                words[type] = None
    return " | ".join(words), contained


def accepts_null(schema: JSONSchema) -> bool:
    return any("null" in types_of(option) for option in [schema, *alternatives(schema)])


def number_format(number: float) -> str:
    """Return a number with the separators of the active language."""
    return format_number(number, force_grouping=True)


def limits_of(schema: JSONSchema) -> Iterator[str]:
    for option in alternatives(schema):
        if "minLength" in option and "maxLength" in option:
            yield _("%(min)s to %(max)s characters") % {
                "min": number_format(option["minLength"]),
                "max": number_format(option["maxLength"]),
            }
        elif "maxLength" in option:
            yield _("up to %(max)s characters") % {"max": number_format(option["maxLength"])}
        elif "minLength" in option:
            yield _("at least %(min)s characters") % {"min": number_format(option["minLength"])}
        if "maxItems" in option:
            yield _("up to %(max)s items") % {"max": number_format(option["maxItems"])}
        if "maxProperties" in option:
            yield _("up to %(max)s names") % {"max": number_format(option["maxProperties"])}
        if {"boolean", "string"}.isdisjoint(types_of(option)) or "integer" in types_of(option):
            yield from bounds_of(option)


def bounds_of(schema: JSONSchema) -> Iterator[str]:
    if "boolean" in types_of(schema):
        return
    for keyword, sign in (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("exclusiveMaximum", "<")):
        bound = schema.get(keyword)
        if bound is not None and abs(bound) < MAX_LISTED_BOUND:
            yield f"{sign} {number_format(bound)}"
    if "multipleOf" in schema:
        places = len(f"{schema['multipleOf']:f}".rstrip("0").partition(".")[2])
        yield _("up to %(n)s decimal places") % {"n": places}


def choices_of(schema: JSONSchema) -> list[str]:
    return [str(choice) for option in alternatives(schema) for choice in option.get("enum", [])]


def shown_default(schema: JSONSchema) -> str:
    if "default" not in schema:
        return ""
    default = schema["default"]
    return str(default).lower() if isinstance(default, bool) else str(default)


def make_field(
    name: str, request: JSONSchema | None, response: JSONSchema | None, *, is_required: bool = False
) -> Field:
    """Return the row of a field from its schemas in requests and responses, at least one of which exists."""
    main = response if response is not None else request or {}
    type, contained = describe_type(main, is_request=response is None)
    accepted = request if request is not None else {}
    choices = choices_of(accepted) or choices_of(main)
    return Field(
        name=name,
        type=type or "any",
        object=contained,
        accepts_null=accepts_null(main),
        is_required=is_required,
        in_requests=request is not None,
        in_responses=response is not None,
        limits=tuple(dict.fromkeys(limits_of(accepted))),
        choices=tuple(choices[:MAX_CHOICES]),
        more_choices=max(0, len(choices) - MAX_CHOICES),
        default=shown_default(accepted),
        description=accepted.get("description", "") or main.get("description", ""),
    )


def required_in(schema: JSONSchema) -> set[str]:
    return set(schema.get("required", []))


def object_table(name: str, request: JSONSchema | None, response: JSONSchema | None) -> ObjectTable:
    """Return the table of an object. The fields have the order of responses."""
    accepted = (request or {}).get("properties", {})
    answered = (response or {}).get("properties", {})
    required = required_in(request or {})
    return ObjectTable(
        name,
        FieldRows(
            make_field(field, accepted.get(field), answered.get(field), is_required=field in required)
            for field in {**answered, **accepted}
        ),
    )


def component_table(name: str) -> ObjectTable:
    """Return the table of an object with components in the document: `Client` with `NewClient` or `ClientChanges`."""
    schemas = document()["components"]["schemas"]
    stem, suffix = (name.removesuffix("Element"), "Element") if name.endswith("Element") else (name, "")
    request = schemas.get(f"New{name}") or schemas.get(f"{stem}Changes{suffix}")
    return object_table(name, request, schemas.get(name))


def parameter_field(definition: JSONSchema) -> Field:
    """Return the row of a parameter of a request."""
    definition = resolve(definition)
    schema = {**definition["schema"], "description": definition.get("description", "")}
    return make_field(definition["name"], schema, None, is_required=definition.get("required", False))
