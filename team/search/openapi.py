"""The schemas of the search over everything in the OpenAPI document, as far as views and serializers do not tell them."""

from core.openapi.fields import NOT_BLANK
from core.openapi.operations import LIMITS, QUERY_PARAMETERS, RESPONSES
from core.openapi.values import ID, NAME, array_of, object_of, or_null
from core.search.queries import MAX_QUERY_LENGTH
from team.search.queries import GROUPS, MAX_FOUND

LIMITS["MAX_FOUND"] = MAX_FOUND

FOUND = object_of(id=ID, name=NAME, detail=or_null(NAME), url={"type": "string", "format": "uri"})
QUERY_PARAMETERS["search_everything"] = {
    "q": {"type": "string", "minLength": 1, "maxLength": MAX_QUERY_LENGTH, **NOT_BLANK}
}
RESPONSES["search_everything"] = object_of({group.name: array_of(FOUND, maxItems=MAX_FOUND) for group in GROUPS})
