"""The schemas of notes in the OpenAPI document, as far as views and serializers do not tell them."""

from core.openapi.fields import describe_field
from core.openapi.values import ID, array_of
from crm.notes.api import IdListField

describe_field(IdListField, response=array_of(ID))
