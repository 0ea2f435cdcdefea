"""The serializers of webhooks and of their log."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from core import outbound
from core.api.fields import (
    BooleanField,
    ChoiceField,
    DateTimeField,
    IntegerField,
    TextField,
    WireField,
    to_list,
)
from core.api.serializers import ResourceSerializer
from core.errors import FieldError
from webhooks.models import Endpoint, event_types


class EventsField(WireField):
    """The types of the events that a webhook receives. Null means all."""

    default_error_messages = {
        "list": _("must be a list of events, or null for all"),
        "choice": _("has {event}, which is not an event"),
    }

    def to_internal_value(self, data: Any) -> list[str]:
        names = to_list(data)
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            self.fail("list")
        known = event_types()
        for name in names:
            if name not in known:
                self.fail("choice", event=name[:100])
        return sorted(set(names), key=known.index)


class WebhookSerializer(ResourceSerializer):
    url = TextField(required=True, max_length=outbound.MAX_URL_LENGTH)
    events = EventsField()
    format = ChoiceField(Endpoint.Format.values)
    public_key = TextField(read_only=True)
    enabled = BooleanField()
    disabled_reason = TextField(read_only=True)
    failing_since = DateTimeField(read_only=True)
    delivered_at = DateTimeField(read_only=True)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
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
    """A request to send again: the message of one entry of the log, or all events since a time."""

    delivery_id = IntegerField(min_value=1)
    since = DateTimeField()

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        values = {name: value for name, value in values.items() if value is not None}
        if len(values) != 1:
            raise FieldError("", _("must have either delivery_id or since"), "required")
        return values
