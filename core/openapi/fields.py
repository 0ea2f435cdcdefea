"""The JSON Schema of the fields of the APIs: one extension of drf-spectacular for each class of fields.

The extension of the most specific class is used. Each app describes its own fields.
"""

from collections.abc import Callable

from drf_spectacular.extensions import OpenApiSerializerFieldExtension

from core.api import fields
from core.api.additional_fields import (
    CUSTOM_FIELDS,
    CUSTOM_TYPES,
    AdditionalFieldsField,
    AdditionalFieldsSerializer,
    AnyScalarField,
    FieldTypes,
)
from core.api.fields import MAX_INTEGER, MAX_TEXT_LENGTH, WireField
from core.numbers import CURRENCIES
from core.openapi.values import BOOLEAN, DATE, ID, NAME, NUMBER, TIME, JSONSchema, array_of, one_of
from core.rows.additional_fields import MAX_FIELDS

# The white space that `str.strip` removes. The meaning of \s depends on the regular expression engine.
WHITE_SPACE = r"\t-\r\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
NON_XML_CHARACTERS = r"\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff"

# Further invisible characters, up to U+FFFF (`core.rows.trimmed.is_blank`).
INVISIBLE = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\u2800"
    r"\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
)

BLANK = rf"^[{WHITE_SPACE}]*$"
# A string that XML allows, and a string that XML allows and that is not blank. Both schemas exclude strings instead of requiring them,
# because fields with these schemas also accept numbers.
XML_TEXT = {"not": {"type": "string", "pattern": f"[{NON_XML_CHARACTERS}]"}}
NOT_BLANK = {"not": {"type": "string", "pattern": f"[{NON_XML_CHARACTERS}]|^[{WHITE_SPACE}{INVISIBLE}]*$"}}
# An id in a body that is neither null nor blank.
FILLED_ID = {"type": ["integer", "string"], **NOT_BLANK}
# The beginning of a time with a year from 3 to 9997. With any offset, such a time is in the years 2 to 9998 in UTC, which are accepted.
YEAR_PATTERN = r"^(000[3-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-8][0-9]{3}|9[0-8][0-9]{2}|99[0-8][0-9]|999[0-7])-"


def padded(pattern: str) -> str:
    """Return the pattern of a text that matches `pattern` if white space at both ends is ignored."""
    return rf"^[{WHITE_SPACE}]*({pattern})[{WHITE_SPACE}]*$"


def padded_or_blank(pattern: str) -> str:
    """Return the pattern of a text that is blank, or that matches `pattern` if white space at both ends is ignored."""
    return rf"^[{WHITE_SPACE}]*({pattern})?[{WHITE_SPACE}]*$"


def case_insensitive(word: str) -> str:
    """Return the pattern of a lower-case word that also matches upper-case letters."""
    return "".join(f"[{letter.upper()}{letter}]" if letter.isalpha() else letter for letter in word)


def or_blank(schema: JSONSchema) -> JSONSchema:
    """Return a schema that accepts a blank text too."""
    return {"anyOf": [schema, {"type": "string", "pattern": BLANK}]}


def nullable(schema: JSONSchema) -> JSONSchema:
    """Return a schema that accepts null too."""
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    if "type" not in schema or "enum" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return {**schema, "type": [*types, "null"]}


class WireFieldExtension(OpenApiSerializerFieldExtension):
    """The base class of the extensions.

    A field has three schemas: in a request body, in a query string (where every value is a text), and in a response.
    """

    target_class: type[fields.WireField] = fields.WireField
    match_subclasses = True
    priority = 0

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls.priority = len(cls.target_class.__mro__)

    @classmethod
    def find_for(cls, field: fields.WireField) -> "WireFieldExtension":
        """Return the extension for a field."""
        extension = cls.get_match(field)
        if not isinstance(extension, WireFieldExtension):
            raise TypeError(f"no extension describes {type(field).__name__}")
        return extension

    def map_serializer_field(self, auto_schema: object, direction: str) -> JSONSchema:
        if direction == "response":
            return self.response_schema()
        schema = self.request_schema()
        return nullable(schema) if self.target.allow_null else schema

    def request_schema(self) -> JSONSchema:
        raise NotImplementedError(type(self.target).__name__)

    def query_schema(self) -> JSONSchema:
        return self.request_schema()

    def response_schema(self) -> JSONSchema:
        return self.request_schema()


class TextExtension(WireFieldExtension):
    target_class: type[fields.WireField] = fields.TextField

    def request_schema(self) -> JSONSchema:
        """Return the schema of a text or a number.

        JSON Schema does not apply a pattern to numbers, so the schema of a field with a pattern allows only texts.
        """
        return {**self.query_schema(), "type": "string" if self.target.pattern else ["string", "number"]}

    def query_schema(self) -> JSONSchema:
        schema = {"type": "string", "maxLength": self.target.max_length}
        if self.target.pattern:
            return {**schema, "pattern": f"^({self.target.pattern.removeprefix('^')})$"}
        return {**schema, **(XML_TEXT if self.target.blank else NOT_BLANK)}

    def response_schema(self) -> JSONSchema:
        return NAME


class EmailExtension(TextExtension):
    target_class = fields.EmailField

    def query_schema(self) -> JSONSchema:
        part = rf"[^@{NON_XML_CHARACTERS}{WHITE_SPACE}"
        pattern = rf"^{part}]+@{part}.]+(\.{part}.]+)*$"
        return {"type": "string", "maxLength": self.target.max_length, "pattern": pattern}


class TextListExtension(WireFieldExtension):
    target_class = fields.TextListField

    def request_schema(self) -> JSONSchema:
        item = {"type": ["string", "number", "null"], "maxLength": fields.MAX_NAME_LENGTH, **XML_TEXT}
        return array_of(item, maxItems=self.target.max_items)

    def response_schema(self) -> JSONSchema:
        return array_of(NAME)


class ChoiceExtension(WireFieldExtension):
    target_class = fields.ChoiceField

    def request_schema(self) -> JSONSchema:
        return or_blank(self.response_schema()) if self.target.allow_null else self.response_schema()

    def response_schema(self) -> JSONSchema:
        return one_of(self.target.choices)


class IntegerExtension(WireFieldExtension):
    target_class: type[fields.WireField] = fields.IntegerField

    @property
    def text_pattern(self) -> str:
        """The pattern of a number as a text. It allows only as many digits as cannot exceed the maximum."""
        digits = len(str(self.target.max_value)) - 1
        if self.target.min_value == 1:
            return rf"\+?0*[1-9][0-9]{{0,{digits - 1}}}(\.0*)?"
        sign = r"\+?" if self.target.min_value == 0 else "[+-]?"
        return rf"{sign}[0-9]{{1,{digits}}}(\.0*)?"

    def request_schema(self) -> JSONSchema:
        pattern = padded_or_blank if self.target.allow_null else padded
        return {**self.query_schema(), "type": ["integer", "string"], "pattern": pattern(self.text_pattern)}

    def query_schema(self) -> JSONSchema:
        return {"type": "integer", "minimum": self.target.min_value, "maximum": self.target.max_value}

    def response_schema(self) -> JSONSchema:
        return ID


class RelatedExtension(IntegerExtension):
    target_class = fields.RelatedField
    text_pattern = r"\+?0*[1-9][0-9]{0,17}(\.0*)?"

    def non_blank_schema(self) -> JSONSchema:
        """Return the request schema of an id that may not be blank."""
        return {**self.request_schema(), "pattern": padded(self.text_pattern)}


class RelatedListExtension(WireFieldExtension):
    target_class = fields.RelatedListField

    def request_schema(self) -> JSONSchema:
        item = RelatedExtension(fields.RelatedField(self.target.relation)).non_blank_schema()
        ids = array_of(item, maxItems=fields.RelatedListField.MAX_IDS)
        return {"anyOf": [ids, {"type": "string", "maxLength": 0}]}

    def response_schema(self) -> JSONSchema:
        return array_of(ID)


def describe_field(
    target: type[fields.WireField],
    *,
    request: JSONSchema | None = None,
    query: JSONSchema | None = None,
    response: JSONSchema | None = None,
) -> None:
    """Register the schemas of a class of fields that do not depend on the arguments of a field."""
    schemas = {"request_schema": request, "query_schema": query, "response_schema": response}
    methods = {name: lambda self, schema=schema: schema for name, schema in schemas.items() if schema is not None}
    type(f"{target.__name__}Extension", (WireFieldExtension,), {"target_class": target, **methods})


describe_field(fields.CurrencyField, request=or_blank(one_of(sorted(CURRENCIES))), response=NAME)
describe_field(fields.DateField, request=or_blank(DATE), response=DATE)
QUERY_TIME = {**TIME, "pattern": YEAR_PATTERN}
describe_field(fields.DateTimeField, request=or_blank(QUERY_TIME), query=QUERY_TIME, response=TIME)

WORDS = padded_or_blank("|".join(map(case_insensitive, fields.BooleanField.WORDS)))
ZERO_OR_ONE = {"type": ["boolean", "integer", "string"], "minimum": 0, "maximum": 1, "pattern": WORDS}
describe_field(fields.BooleanField, request=ZERO_OR_ONE, query=BOOLEAN, response=BOOLEAN)

DIGITS, PLACES = fields.DecimalField.MAX_WHOLE_DIGITS, fields.DecimalField.MAX_DECIMAL_PLACES
DECIMAL_RANGE = {"type": "number", "exclusiveMinimum": -(10**DIGITS), "exclusiveMaximum": 10**DIGITS}
DECIMAL = {**DECIMAL_RANGE, "multipleOf": 10**-PLACES}
DECIMAL_TEXT = padded_or_blank(rf"[+-]?[0-9]{{1,{DIGITS}}}(\.[0-9]{{0,{PLACES}}}0*)?")
describe_field(
    fields.DecimalField,
    request={**DECIMAL, "type": ["number", "string"], "pattern": DECIMAL_TEXT},
    query=DECIMAL,
    response=NUMBER,
)

# White space does not count, so neither the number of tags nor the length of the text is limited.
TAG = rf"[^,\u0000-\u0008\u000e-\u001b\ufffe\uffff]{{0,{fields.TagsField.MAX_TAG_LENGTH}}}"
TAGS = array_of({"type": ["string", "number"], "pattern": f"^{TAG}$"})
describe_field(
    fields.TagsField,
    request={"anyOf": [TAGS, {"type": "string", "pattern": f"^{TAG}(,{TAG})*$"}]},
    response=array_of({"type": "string", "maxLength": fields.TagsField.MAX_TAG_LENGTH}),
)

# Additional fields

INTEGER = {"type": "integer", "minimum": -MAX_INTEGER, "maximum": MAX_INTEGER}
TEXT_OR_BOOLEAN = {"type": ["string", "boolean"], "maxLength": MAX_TEXT_LENGTH, **XML_TEXT}
describe_field(
    AnyScalarField,
    request={"anyOf": [TEXT_OR_BOOLEAN, INTEGER, DECIMAL_RANGE]},
    response={"type": ["string", "number", "boolean"]},
)


class AdditionalFieldsExtension(WireFieldExtension):
    """The schema of additional fields. A typed key has the schema of its field, any other key has the schema of a scalar."""

    target_class = AdditionalFieldsField

    def request_schema(self) -> JSONSchema:
        return {**self.object_schema("request"), "maxProperties": MAX_FIELDS}

    def response_schema(self) -> JSONSchema:
        return self.object_schema("response")

    def object_schema(self, direction: str) -> JSONSchema:
        name = rf"^[^{NON_XML_CHARACTERS}]{{0,{AdditionalFieldsField.MAX_KEY_LENGTH}}}$"
        return {
            "type": "object",
            "propertyNames": {"pattern": name, "not": {"pattern": BLANK}},
            **typed_schemas(self.target.typed, direction),
            "additionalProperties": schema_of(AnyScalarField, direction),
        }


def schema_of(make: Callable[[], WireField], direction: str) -> JSONSchema:
    """Return the schema of a typed field, which may be null in requests."""
    extension = WireFieldExtension.find_for(make())
    return nullable(extension.request_schema()) if direction == "request" else extension.response_schema()


def typed_schemas(typed: FieldTypes, direction: str) -> JSONSchema:
    """Return the schema keywords of typed fields: a pattern for each type of custom fields, and the names of the other typed fields."""
    properties = {name: schema_of(make, direction) for name, make in typed.items() if name not in CUSTOM_FIELDS}
    patterns = {f"^{name}([1-9]|10)$": schema_of(make, direction) for name, make in CUSTOM_TYPES.items()}
    return {"properties": properties, "patternProperties": patterns}


def add_typed_fields(schema: JSONSchema, serializer: type[AdditionalFieldsSerializer], direction: str) -> JSONSchema:
    """Return the schema of a resource with its typed fields. Responses have only those that are set."""
    typed = typed_schemas(serializer.typed, direction)
    properties = {name: field for name, field in schema["properties"].items() if name not in serializer.typed}
    return {**schema, **typed, "properties": {**properties, **typed["properties"]}}
