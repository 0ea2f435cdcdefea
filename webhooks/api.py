"""Webhooks in the Account API."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from rest_framework.response import Response

from accounts.hosts.api import APIRequest, TypedViewSet
from accounts.roles.permissions import IsAdmin
from core import outbound
from core.api.fields import BooleanField, ChoiceField, DateTimeField, IntegerField, TextField, WireField, to_list
from core.api.lists import Paged
from core.api.serializers import ResourceSerializer
from core.db.transactions import transactional
from core.errors import FieldError
from core.openapi.fields import BLANK, describe_field
from core.openapi.operations import BODIES, RESPONSES, SHAPES, Shape
from core.openapi.schema import JSONOperationSchema
from core.openapi.values import NAME, JSONSchema, array_of, object_of, one_of, required_fields
from core.rows.scopes import ALL_ROWS
from webhooks import delivery
from webhooks.models import DISABLED, Delivery, Endpoint, EndpointQuerySet, event_types


class EventsField(WireField):
    """The types of the events that a webhook receives. Null means all."""

    default_error_messages = {
        "list": _("must be a list of events, or null for all"),
        "choice": _("has {event}, which is not an event"),
    }

    def to_internal_value(self, data: object) -> list[str]:
        names = to_list(data)
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            self.fail("list")
        known = event_types()
        for name in names:
            if name not in known:
                self.fail("choice", event=name[:100])
        return sorted(set(names), key=known.index)


class WebhookSerializer(ResourceSerializer):
    name = TextField()
    url = TextField(required=True, max_length=outbound.MAX_URL_LENGTH)
    events = EventsField()
    format = ChoiceField(Endpoint.Format.values)
    public_key = TextField(read_only=True)
    includes_imports = BooleanField()
    enabled = BooleanField()
    disabled_reason = TextField(read_only=True)
    failing_since = DateTimeField(read_only=True)
    delivered_at = DateTimeField(read_only=True)

    def validate(self, values: dict[str, object]) -> dict[str, object]:
        """Ignore null, except for `events`, where it means all."""
        return {name: value for name, value in values.items() if value is not None or name == "events"}


class DeliverySerializer(ResourceSerializer):
    webhook_id = IntegerField(read_only=True)
    cause = TextField(read_only=True)
    message_id = TextField(read_only=True)
    event = TextField(read_only=True)
    number = IntegerField(read_only=True)
    attempt = IntegerField(read_only=True)
    status = IntegerField(read_only=True)
    error = TextField(read_only=True)
    duration_ms = IntegerField(read_only=True)
    set_aside = BooleanField(read_only=True)
    request = TextField(read_only=True)
    response = TextField(read_only=True)

    sources = {"webhook_id": "endpoint_id", "message_id": "message", "created_at": "at", "updated_at": "at"}


class ResendSerializer(ResourceSerializer):
    """A request to send again: the message of one entry of the log, or all events since a time, and before another one."""

    delivery_id = IntegerField(min_value=1)
    since = DateTimeField()
    until = DateTimeField()

    def validate(self, values: dict[str, object]) -> dict[str, object]:
        values = {name: value for name, value in values.items() if value is not None}
        if len(values.keys() - {"until"}) != 1:
            raise FieldError("", _("must have either delivery_id or since"), "required")
        if "until" in values and "since" not in values:
            raise FieldError("until", _("can only be given with since"), "alone")
        return values


class WebhookViewSet(TypedViewSet, Paged):
    areas = ("settings", ALL_ROWS)
    # An endpoint receives everything that the team sees.
    permission_classes = [IsAdmin]
    serializer_class = WebhookSerializer
    shown_once = ("secret",)

    def get_queryset(self) -> EndpointQuerySet:
        rows: EndpointQuerySet = self.account.webhooks.order_by("id")
        return rows

    @transactional
    def create(self, request: APIRequest) -> HttpResponse:
        row, secret = Endpoint.objects.all().add(self.account, **self.read(None))
        location = self.base_url + reverse("webhooks-json-webhook", args=[row.id])
        data = self.represent(row) | {"secret": secret}
        return Response(data, status=201, headers={"Location": location})

    def retrieve(self, request: APIRequest, id: int) -> HttpResponse:
        return Response(self.represent(self.get_object()))

    @transactional
    def update(self, request: APIRequest, id: int) -> HttpResponse:
        row: Endpoint = self.get_object(locked=True)
        row.write(self.read(row))
        return Response(self.represent(row))

    def read(self, row: Endpoint | None) -> dict[str, Any]:
        serializer = self.get_serializer(row, data=self.body.get("webhook"), partial=row is not None)
        self.check(webhook=serializer)
        values: dict[str, Any] = serializer.values
        return values

    @transactional
    def destroy(self, request: APIRequest, id: int) -> HttpResponse:
        self.get_object(locked=True).erase()
        return Response("ok")

    @transactional
    def rotate(self, request: APIRequest, id: int) -> HttpResponse:
        """Replace the secret. The previous one stays valid for 24 hours."""
        self.check()
        row: Endpoint = self.get_object(locked=True)
        secret = row.rotate_secret()
        return Response(self.represent(row) | {"secret": secret})

    @transactional
    def test(self, request: APIRequest, id: int) -> HttpResponse:
        """Have a worker send a test message."""
        self.check()
        delivery.defer_test(self.get_object(locked=True))
        return Response("ok")

    @transactional
    def resend(self, request: APIRequest, id: int) -> HttpResponse:
        """Have workers send one message of the log again, or the events of a time."""
        row: Endpoint = self.get_object(locked=True)
        serializer = ResendSerializer(data=self.body.get("resend"), context=self.get_serializer_context())
        self.check(resend=serializer)
        values = serializer.values
        if not row.enabled:
            raise FieldError("webhook", DISABLED, "disabled")
        if "since" in values:
            row.resend_since(values["since"], values.get("until"))
            return Response("ok")
        entry = self.deliveries_of(id).filter(id=values["delivery_id"]).first()
        if entry is None:
            raise FieldError("delivery_id", "can't be found", "missing")
        delivery.defer_resend(entry)
        return Response("ok")

    def deliveries(self, request: APIRequest, id: int) -> HttpResponse:
        """Return a page of the log, newest first."""
        self.read_page()
        if not self.get_queryset().filter(id=id).exists():
            raise Http404
        rows = self.paginate_queryset(self.deliveries_of(id).order_by("-id"))
        return self.get_paginated_response([DeliverySerializer.represent(row, self.account.zone) for row in rows])

    def deliveries_of(self, id: int) -> QuerySet[Delivery]:
        return Delivery.objects.filter(account_id=self.account.id, endpoint_id=id)


# The schemas of the OpenAPI document, as far as views and serializers do not tell them

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
