"""The schemas of clients and similar customers in the OpenAPI document, as far as views and serializers do not tell them."""

from core.api.serializers import declared_fields
from core.openapi.operations import LIMITS, QUERY_PARAMETERS, RESPONSES, SHAPES, Shape
from core.openapi.schema import field_parameters
from core.openapi.values import NAME, ROW_ID, array_of, object_of, one_of, or_null
from crm.clients.api.similar import SimilarSerializer
from crm.clients.api.views import ClientSerializer
from crm.clients.similar import MAX_SHOWN, SimilarityReason
from crm.resources.openapi import NAMES, describe_operations

LIMITS["MAX_SIMILAR"] = 2 * MAX_SHOWN

SHAPES[ClientSerializer] = Shape(rules={"required": None, "anyOf": NAMES})
describe_operations("client")

SIMILAR = object_of(
    resource=one_of(["client", "contact"]), id=ROW_ID, name=NAME, email=or_null(NAME), reason=one_of(SimilarityReason)
)
QUERY_PARAMETERS["find_similar"] = field_parameters(declared_fields(SimilarSerializer))
RESPONSES["find_similar"] = array_of(SIMILAR, maxItems=2 * MAX_SHOWN)
