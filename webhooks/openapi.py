"""The schemas of webhooks in the OpenAPI document, as far as views and serializers do not tell them."""

from core.openapi.fields import BLANK, describe_field
from core.openapi.operations import BODIES, RESPONSES, SHAPES, Shape
from core.openapi.schema import JSONOperationSchema
from core.openapi.values import NAME, JSONSchema, array_of, object_of, one_of, required_fields
from webhooks.api import DeliverySerializer, EventsField, ResendSerializer, WebhookSerializer
from webhooks.models import Delivery, Endpoint, event_types

SHAPES[WebhookSerializer] = Shape(Endpoint)
SHAPES[DeliverySerializer] = Shape(Delivery)
# Exactly one of the two fields. A field that is null or blank counts as missing.
GIVEN = {"not": {"anyOf": [{"type": "null"}, {"type": "string", "pattern": BLANK}]}}
SHAPES[ResendSerializer] = Shape(rules={"oneOf": required_fields(("delivery_id", "since"), GIVEN)})
describe_field(EventsField, request=array_of(one_of(event_types()), minItems=1), response=array_of(NAME))


def add_secret(schema: JSONOperationSchema, status: int) -> JSONSchema:
    """Return the schema of a webhook with its secret, which is null in a response that is repeated for an Idempotency-Key."""
    secret = {"type": ["string", "null"], "description": "Shown once."}
    properties = schema.output_schema(WebhookSerializer)["properties"]
    return schema.component("schemas", "WebhookWithSecret", object_of(properties, secret=secret))


RESPONSES["create_webhook"] = RESPONSES["rotate_webhook_secret"] = add_secret
RESPONSES["list_webhook_deliveries"] = DeliverySerializer
BODIES["resend_webhook"] = {"resend": ResendSerializer}
