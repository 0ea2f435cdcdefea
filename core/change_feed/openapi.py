"""The schemas of the change feed in the OpenAPI document."""

from core.api.serializers import declared_fields
from core.change_feed.api import FeedSerializer, SinceField
from core.changes.models import Change
from core.openapi.fields import describe_field
from core.openapi.operations import QUERY_PARAMETERS, RESPONSES
from core.openapi.schema import field_parameters
from core.openapi.values import BOOLEAN, ID, NAME, TIME, array_of, object_of, one_of

describe_field(SinceField, request={"type": "string", "description": "The cursor of the previous response, or `now`."})

QUERY_PARAMETERS["list_changes"] = field_parameters(declared_fields(FeedSerializer))
CHANGE = object_of(resource=NAME, id=ID, change=one_of(Change.Kind.values), at=TIME)
RESPONSES["list_changes"] = object_of(changes=array_of(CHANGE), cursor=NAME, more=BOOLEAN)
