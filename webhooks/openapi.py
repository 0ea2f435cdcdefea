"""The OpenAPI operations on webhooks."""

from typing import Any

from core.openapi.fields import BLANK, WireFieldExtension
from core.openapi.operations import SHAPES, JSONSchema, Shape, register_operation
from core.openapi.schema import JSONOperationSchema
from webhooks.api.serializers import DeliverySerializer, EventsField, ResendSerializer, WebhookSerializer
from webhooks.models import Delivery, Endpoint, event_types

TAG = "Webhooks"
TIMES = {"created_at": "2026-11-21T12:00:00+01:00", "updated_at": "2026-11-21T12:00:00+01:00"}
OK = {"type": "string", "const": "ok"}


def one_of_both(schema: JSONSchema, partial: bool) -> JSONSchema:
    """Require exactly one of the two fields. A field that is null or blank counts as missing."""
    given = {"not": {"anyOf": [{"type": "null"}, {"type": "string", "pattern": BLANK}]}}
    alternatives = [{"required": [name], "properties": {name: given}} for name in ("delivery_id", "since")]
    return {**schema, "oneOf": alternatives}


SHAPES[WebhookSerializer] = Shape(Endpoint)
SHAPES[DeliverySerializer] = Shape(Delivery)
SHAPES[ResendSerializer] = Shape(refine_input=one_of_both)


class EventsExtension(WireFieldExtension):
    target_class = EventsField

    def request_schema(self) -> JSONSchema:
        return {"type": "array", "items": {"type": "string", "enum": event_types()}, "minItems": 1}

    def response_schema(self) -> JSONSchema:
        return {"type": "array", "items": {"type": "string"}}


def with_secret(schema: JSONOperationSchema, status: int) -> JSONSchema:
    """Return the schema of a webhook with its secret, which is null in a response that is repeated for an Idempotency-Key."""
    output = schema.output_schema(WebhookSerializer)
    secret = {"type": ["string", "null"], "description": "Shown once."}
    properties = {**output["properties"], "secret": secret}
    return schema.component(
        "schemas", "WebhookWithSecret", {**output, "properties": properties, "required": list(properties)}
    )


WEBHOOK: dict[str, Any] = {
    "id": 31,
    "url": "https://hooks.example.com/rostrum",
    "events": ["client.created", "client.updated"],
    "format": "standard",
    "public_key": "whpk_2pOC8bYxAp2QGhvAd5x0qUqOyOPvX3rNBBUvd4A4UIc=",
    "enabled": True,
    "disabled_reason": None,
    "failing_since": None,
    "delivered_at": None,
    **TIMES,
}
CREATE = {"url": "https://hooks.example.com/rostrum", "events": ["client.created", "client.updated"]}
SECRET = {"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwq1kYhWfJd0I="}
DELIVERY = {
    "id": 35,
    "webhook_id": 31,
    "cause": "event",
    "message_id": "msg_2KWPBgLlAfxdpx2AI54pPJ85",
    "event": "client.created",
    "number": 13,
    "attempt": 1,
    "status": 204,
    "error": None,
    "duration_ms": 84,
    "set_aside": False,
    "request": '{"type":"client.created","timestamp":"2026-11-21T12:00:00+01:00","number":13,"data":{"id":26,"name":"Ann"}}',
    "response": "",
    **TIMES,
}
ITEM: dict[str, Any] = {"id": 31}


def register(route: str, id: str, summary: str, description: str, **values: Any) -> None:
    register_operation(route, id, summary, f"For admins. {description}", TAG, **values)


register(
    "GET /app/webhooks.json",
    "list_webhooks",
    "List webhooks",
    "All webhooks of the account, by id.",
    response_example=[WEBHOOK],
)
register(
    "POST /app/webhooks.json",
    "create_webhook",
    "Create a webhook",
    "It receives the changes that are made from now on. Only this response contains the secret.",
    body={"webhook": CREATE},
    response_example={**WEBHOOK, **SECRET},
    body_serializers={"webhook": WebhookSerializer},
    response=with_secret,
)
register(
    "GET /app/webhooks/{id}.json",
    "read_webhook",
    "Read a webhook",
    "The webhook with that id, without its secret.",
    response_example=WEBHOOK,
)
for method, operation_id, addition in (("PUT", "update_webhook", ""), ("PATCH", "patch_webhook", " The same as PUT.")):
    register(
        f"{method} /app/webhooks/{{id}}.json",
        operation_id,
        "Update a webhook",
        "Fields that are not sent keep their values. A webhook that is enabled receives the changes from then on."
        + addition,
        body={"webhook": {"events": None}},
        response_example={**WEBHOOK, "events": None},
        body_serializers={"webhook": WebhookSerializer},
    )
register(
    "DELETE /app/webhooks/{id}.json",
    "delete_webhook",
    "Delete a webhook",
    "Its log is deleted, too.",
    response_example="ok",
    parameters=ITEM,
)
register(
    "POST /app/webhooks/{id}/secret.json",
    "rotate_webhook_secret",
    "Replace the secret of a webhook",
    "Only this response contains the new secret. For 24 hours, requests are also signed with the previous one.",
    response_example={**WEBHOOK, **SECRET},
    body_serializers={},
    response=with_secret,
)
register(
    "POST /app/webhooks/{id}/test.json",
    "test_webhook",
    "Send a test to a webhook",
    "A message of the type `webhook.test` is sent in the background. Its result is in the log.",
    response_example="ok",
    parameters=ITEM,
    body_serializers={},
)
register(
    "POST /app/webhooks/{id}/resend.json",
    "resend_webhook",
    "Send events to a webhook again",
    "With `delivery_id`, the message of an entry of the log; with `since`, all events since that time, in their order. "
    "A webhook that is disabled answers 422.",
    body={"resend": {"since": "2026-11-20T08:00:00+01:00"}},
    response_example="ok",
    parameters=ITEM,
    body_serializers={"resend": ResendSerializer},
)
register(
    "GET /app/webhooks/{id}/deliveries.json",
    "list_webhook_deliveries",
    "List the deliveries of a webhook",
    "The log of the last 30 days, newest first: requests, the first 1,024 bytes of the responses, and durations.",
    response_example=[DELIVERY],
    parameters=ITEM,
    response=DeliverySerializer,
)
