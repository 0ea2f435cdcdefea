"""The schemas of bulk changes in the OpenAPI document, as far as views and serializers do not tell them."""

from core.api.fields import MAX_INTEGER
from core.openapi.fields import describe_field
from core.openapi.operations import LIMITS, SHAPES, Shape
from core.openapi.values import ID, NAME, array_of, object_of, one_of, or_null, required_fields
from team.bulk.actions import BulkResult
from team.bulk.api import MAX_IDS, BulkChangeSerializer, LeftAloneField, SelectedIdsField
from team.bulk.models import MAX_LEFT_ALONE, MAX_ROWS, BulkChange

LIMITS |= {"MAX_ROWS": MAX_ROWS, "MAX_LEFT_ALONE": MAX_LEFT_ALONE}

IDS = array_of({"type": "integer", "minimum": 1, "maximum": MAX_INTEGER}, minItems=1, maxItems=MAX_IDS)
LEFT_ALONE = object_of(id=ID, name=or_null(NAME), result=one_of(BulkResult.LABELS))
describe_field(SelectedIdsField, request=IDS)
describe_field(LeftAloneField, response=array_of(LEFT_ALONE, maxItems=MAX_LEFT_ALONE))

# Exactly one of the two fields. A field that is null counts as missing.
IDS_OR_QUERY = [
    {**alternative, "not": {"required": [other]}}
    for alternative, other in zip(
        required_fields(("ids", "query"), {"not": {"type": "null"}}), ("query", "ids"), strict=True
    )
]
SHAPES[BulkChangeSerializer] = Shape(
    BulkChange,
    nullable=frozenset({"query", "failure", "responsible_id", "status_id", "contact_list_id"}),
    rules={"oneOf": IDS_OR_QUERY},
)
