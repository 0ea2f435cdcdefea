"""The schema of lists of tags in the OpenAPI document."""

from core.openapi.values import ID, NAME, array_of, object_of

# The lists of tags of upper rooms.
TAGS = array_of(object_of(id=ID, name=NAME, count={"type": "integer", "minimum": 1}))
