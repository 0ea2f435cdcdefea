"""The messages that are sent to endpoints: their ids and bodies."""

import hashlib
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.utils import translation
from django.utils.translation import gettext as _

from core.api.resources import values_query
from core.api.serializers import format_time
from core.changes import events
from core.http.formats import JSONRenderer
from core.registry import registry
from webhooks import chat
from webhooks.models import Endpoint

DISCORD_HOSTS = ("discord.com", "discordapp.com")
TEST_EVENT = "webhook.test"


@dataclass(frozen=True, slots=True)
class Event:
    """A change or a named event of an account, or a test."""

    # The type, such as `client.created`.
    type: str
    at: datetime
    # The number of the change and the id of the resource. Null for a test.
    number: int | None = None
    id: int | None = None
    # What a named event has (`core.changes.events`). Null for a raw change.
    actor_id: int | None = None
    data: dict[str, Any] | None = None

    @property
    def key(self) -> str:
        """The key of the resource or of the subject."""
        return self.type.rpartition(".")[0]

    @property
    def is_known(self) -> bool:
        return registry.get(self.key) is not None or self.key in events.subjects

    @property
    def label(self) -> str:
        """The name of the resource or of the subject, such as "Deal"."""
        return str((events.subjects.get(self.key) or registry[self.key]).label)

    @property
    def verb(self) -> str:
        if (kind := events.kinds.get(self.type)) is not None:
            return str(kind.label)
        verbs = {"created": _("created"), "updated": _("changed"), "deleted": _("deleted"), "restored": _("restored")}
        return verbs[self.type.rpartition(".")[2]]


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
    """Return the message about an event, with the rows as they are now. This takes a fixed number of statements."""
    data = read_data(endpoint, event)
    actor = read_actor(endpoint, event)
    make_body = envelope if endpoint.format == Endpoint.Format.STANDARD else chat_message
    body = make_body(endpoint, event, data, actor)
    return WebhookMessage(message_id(endpoint, event), event, JSONRenderer().render(body))


def read_data(endpoint: Endpoint, event: Event) -> dict[str, Any]:
    """Return the row of an event as the JSON interface shows it, or its id if it is deleted."""
    if event.id is None or not event.is_known:
        return {"webhook_id": endpoint.id}
    subject = events.subjects.get(event.key)
    if subject is not None and subject.read is not None:
        found = subject.read(endpoint.account, event.id, event.data or {})
        return found or {"id": event.id, "deleted": True}
    key, id = events.place_of(event.key, event.id, event.data)
    resource = registry[key]
    values = values_query(resource.viewset).first(account_id=endpoint.account_id, ids=[id])
    if values is None:
        return {"id": event.id, "deleted": True}
    return resource.viewset.serializer_class.represent_values(values, endpoint.account.zone)


def read_actor(endpoint: Endpoint, event: Event) -> dict[str, Any] | None:
    if event.actor_id is None:
        return None
    actor: dict[str, Any] | None = endpoint.account.users.filter(id=event.actor_id).values("id", "name", "role").first()
    return actor


def url_of(endpoint: Endpoint, event: Event, data: dict[str, Any]) -> str | None:
    """Return the URL of the page of the row, or None if it is deleted or has no page."""
    find = events.urls.get(event.key)
    return None if find is None or data.get("deleted") else find(endpoint.account, data)


def envelope(endpoint: Endpoint, event: Event, data: dict[str, Any], actor: dict[str, Any] | None) -> dict[str, object]:
    """Return the body of Standard Webhooks."""
    change = event.data or {}
    return {
        "type": event.type,
        "timestamp": format_time(event.at, endpoint.account.zone),
        "number": event.number,
        "url": url_of(endpoint, event, data),
        "actor": actor,
        "before": change.get("before"),
        "after": change.get("after"),
        "data": data,
    }


def chat_message(
    endpoint: Endpoint, event: Event, data: dict[str, Any], actor: dict[str, Any] | None
) -> dict[str, object]:
    """Return the body for a chat, in the language of the account."""
    with translation.override(endpoint.account.language):
        parts = chat_text(endpoint, event, data, actor)
        if endpoint.format == Endpoint.Format.TEAMS:
            return chat.teams(parts)
        is_discord = f".{endpoint.host}".endswith(tuple(f".{host}" for host in DISCORD_HOSTS))
        return chat.discord(parts) if is_discord else chat.slack(parts)


def chat_text(endpoint: Endpoint, event: Event, data: dict[str, Any], actor: dict[str, Any] | None) -> chat.ChatText:
    """Return what a chat shows of an event: its page, the user who acted or else the author, the status, and the text."""
    if event.id is None or not event.is_known:
        return chat.ChatText(_("Rostrum: this is a test message."))
    name = next((data[key] for key in ("title", "post_title", "name") if data.get(key)), f"#{event.id}")
    title = f"{event.label}: {chat.shorten(str(name), chat.MAX_NAME_LENGTH)} ({event.verb})"
    text = data.get("response") if event.type == "post.answered" else data.get("comment") or data.get("content")
    before, after = ((event.data or {}).get(key) or {} for key in ("before", "after"))
    status = after.get("status")
    if status is None and data.get("status_id") is not None:
        status = endpoint.account.statuses.filter(id=data["status_id"]).values_list("name", flat=True).first()
    facts = [(actor or {}).get("name") or data.get("nick"), " → ".join(filter(None, [before.get("status"), status]))]
    return chat.ChatText(
        title,
        url_of(endpoint, event, data),
        tuple(chat.shorten(fact, chat.MAX_NAME_LENGTH) for fact in facts if fact),
        chat.shorten(str(text or ""), chat.MAX_EXCERPT_LENGTH),
    )
