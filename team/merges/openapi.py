"""The schemas of merges in the OpenAPI document, as far as views and serializers do not tell them."""

from core.openapi.fields import describe_field
from core.openapi.operations import BODIES
from core.openapi.values import NAME, array_of, object_of, one_of
from team.merges.api import BODIES as BODIES_OF_MERGES
from team.merges.api import ChangesField, FieldNamesField, MergeChoicesField, PairsField
from team.merges.comparison import Choice

CHANGES = {"type": "object", "additionalProperties": object_of(before={}, after={})}
describe_field(MergeChoicesField, request={"type": "object", "additionalProperties": one_of(Choice)})
describe_field(ChangesField, response=CHANGES)
describe_field(PairsField, response=array_of(array_of(NAME, minItems=2, maxItems=2)))
describe_field(FieldNamesField, response=array_of(NAME))
for key, serializer in BODIES_OF_MERGES.items():
    BODIES[f"merge_{key}s"] = {"merge": serializer}
