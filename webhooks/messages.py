"""The messages that are sent to endpoints: their ids and bodies."""

import hashlib
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime

from django.utils import translation
from django.utils.translation import gettext as _

from core.api.resources import values_query
from core.api.serializers import format_time
from core.http.formats import JSONRenderer
from core.registry import Resource, registry
from webhooks.models import CHAT_AT, Endpoint

# Discord refuses longer messages.
MAX_TEXT_LENGTH = 2000
MAX_NAME_LENGTH = 200
DISCORD_HOSTS = ("discord.com", "discordapp.com")
TEST_EVENT = "webhook.test"


@dataclass(frozen=True, slots=True)
class Event:
    """A change of an account, or a test."""

    # The type, such as `client.created`.
    type: str
    at: datetime
    # The number of the change and the id of the resource. Null for a test.
    number: int | None = None
    id: int | None = None

    @property
    def resource(self) -> Resource | None:
        return registry.get(self.type.rpartition(".")[0])


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """A request to an endpoint, without the signature and the time of the attempt."""

    id: str
    event: Event
    body: bytes


def message_id(endpoint: Endpoint, event: Event) -> str:
    """Return the id of a message, which is equal for all attempts to deliver the event to the endpoint.

    The id depends on the time of the change, because another change may have the same number after a restore from a backup.
    """
    identity = f"{endpoint.account_id} {endpoint.id} {event.number} {event.at.astimezone(UTC).isoformat()} {event.type}"
    return "msg_" + urlsafe_b64encode(hashlib.sha256(identity.encode()).digest()[:18]).decode()


def make_message(endpoint: Endpoint, event: Event) -> WebhookMessage:
    """Return the message about an event, with the resource as it is now. This takes one statement."""
    data = read_data(endpoint, event)
    make_body = chat_message if endpoint.format == Endpoint.Format.SLACK else envelope
    return WebhookMessage(message_id(endpoint, event), event, JSONRenderer().render(make_body(endpoint, event, data)))


def read_data(endpoint: Endpoint, event: Event) -> dict[str, object]:
    """Return the resource of an event as the JSON interface shows it, or its id if it is deleted."""
    if event.resource is None or event.id is None:
        return {"webhook_id": endpoint.id}
    viewset = event.resource.viewset
    values = values_query(viewset).first(account_id=endpoint.account_id, ids=[event.id])
    if values is None:
        return {"id": event.id, "deleted": True}
    return viewset.serializer_class.represent_values(values, endpoint.account.zone)


def envelope(endpoint: Endpoint, event: Event, data: dict[str, object]) -> dict[str, object]:
    """Return the body of Standard Webhooks."""
    timestamp = format_time(event.at, endpoint.account.zone)
    return {"type": event.type, "timestamp": timestamp, "number": event.number, "data": data}


def chat_message(endpoint: Endpoint, event: Event, data: dict[str, object]) -> dict[str, object]:
    """Return the body for a chat: a sentence in the language of the account."""
    with translation.override(endpoint.account.language):
        text = sentence(event, data)
    if endpoint.host.endswith(DISCORD_HOSTS):
        return {"content": text[:MAX_TEXT_LENGTH], "allowed_mentions": {"parse": []}}
    # Slack reads these characters as markup, and a name could mention everyone.
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", CHAT_AT)
    return {"text": text}


def sentence(event: Event, data: dict[str, object]) -> str:
    if event.resource is None:
        return _("Rostrum: this is a test message.")
    label, change = str(event.resource.label), event.type.rpartition(".")[2]
    name = " ".join(str(data.get("title") or data.get("name") or f"#{event.id}").split())
    if len(name) > MAX_NAME_LENGTH:
        name = name[: MAX_NAME_LENGTH - 1] + "…"
    verbs = {"created": _("created"), "updated": _("changed"), "deleted": _("deleted"), "restored": _("restored")}
    return f"{label}: {name} ({verbs[change]})"
