"""The schemas of the address of the calendar in the OpenAPI document, as far as views and serializers do not tell them."""

from core.openapi.operations import RESPONSES
from core.openapi.values import TIME, object_of, or_null

RESPONSES["read_calendar_feed"] = object_of(created_at=or_null(TIME))
# The address is null if a repeated request has the same Idempotency-Key.
RESPONSES["create_calendar_feed"] = object_of(url={"type": ["string", "null"], "format": "uri"}, created_at=TIME)
