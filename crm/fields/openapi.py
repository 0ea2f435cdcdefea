"""The schemas of field definitions in the OpenAPI document, as far as views and serializers do not tell them."""

from core.openapi.fields import NON_XML_CHARACTERS, WHITE_SPACE, XML_TEXT, TextExtension, describe_field
from core.openapi.operations import LIMITS, RESPONSES, SHAPES, Shape
from core.openapi.values import BOOLEAN, COUNT, JSONSchema, array_of, object_of
from crm.fields.api.definitions import MAX_COMPARED_ROWS, ChoicesField, FieldDefinitionSerializer, KeyField
from crm.fields.models import MAX_CHOICES, MAX_DEFINITIONS

LIMITS |= {"MAX_DEFINITIONS": MAX_DEFINITIONS, "MAX_COMPARED_ROWS": MAX_COMPARED_ROWS}

describe_field(
    ChoicesField,
    request=array_of(
        {"type": ["string", "number"], "maxLength": ChoicesField.MAX_LENGTH, **XML_TEXT}, maxItems=MAX_CHOICES
    ),
    response=array_of({"type": "string", "minLength": 1, "maxLength": ChoicesField.MAX_LENGTH}, maxItems=MAX_CHOICES),
)


class KeyExtension(TextExtension):
    """The schema of the key of a defined field. A blank key is made from the label."""

    target_class = KeyField

    def request_schema(self) -> JSONSchema:
        # The key neither begins nor ends with these characters.
        other = NON_XML_CHARACTERS + WHITE_SPACE
        pattern = rf"^([^\[\]{other}]([^\[\]{NON_XML_CHARACTERS}]*[^\[\]{other}])?)?$"
        return {"type": "string", "maxLength": self.target.max_length, "pattern": pattern}


SHAPES[FieldDefinitionSerializer] = Shape(computed=frozenset({"key", "position"}))
RESPONSES["count_misfits"] = object_of(count=COUNT, compared=COUNT, complete=BOOLEAN)
