"""Named events: acts such as `post.status_changed`, which the change feed has beside the raw changes.

An event is a row of the feed with `data`: what was `before` and `after`, and the ids of what it is about. It contains no texts of users, so
that an erasure of texts leaves nothing here. `change` is its name. The path that writes an act records its event, in the transaction of
the act and with the row of its resource locked. At the commit, a deferred trigger moves the event behind the changes of the rows that the
transaction wrote before it. The order of the feed is therefore the same for events and for raw changes.

Each subject registers its events in its module `registration`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.utils.functional import Promise

from core.db.fields import TenantRow

# A part of the JSON of an event.
Values = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class EventSubject:
    """The subject of events that is not a resource, such as a comment."""

    label: str | Promise
    # Return the JSON of the row as it is now, or None if it is deleted. The arguments are the account, the id and the data of the event.
    # Without a function, the subject is a kind of the rows of its resource.
    read: Callable[[Any, int, Values], dict[str, Any] | None] | None = None
    # The resource whose readers may see the events, and the key of its id in the data. "" stands for the id of the event.
    resource: str | None = None
    id_key: str = ""


@dataclass(frozen=True, eq=False)
class EventKind:
    """A registered event, with sample values for the catalogue."""

    subject: str
    name: str
    # What happened, as a short phrase without the subject: "Merged".
    label: str | Promise
    before: Values | None = None
    after: Values | None = None
    ids: Values = field(default_factory=dict)

    @property
    def type(self) -> str:
        return f"{self.subject}.{self.name}"


# By type and by key.
kinds: dict[str, EventKind] = {}
subjects: dict[str, EventSubject] = {}
# Functions that return the URL of the page of a row, by the key of a resource or subject. The arguments are the account and the JSON.
urls: dict[str, Callable[[Any, Values], str]] = {}


def register(subject: str, name: str, label: str | Promise, **sample: Any) -> None:
    """Register an event of a resource or of a registered subject."""
    kind = EventKind(subject, name, label, **sample)
    if kind.type in kinds:
        raise ImproperlyConfigured(f"The event {kind.type!r} is registered twice.")
    kinds[kind.type] = kind


def register_subject(key: str, subject: EventSubject) -> None:
    if key in subjects:
        raise ImproperlyConfigured(f"The subject {key!r} is registered twice.")
    subjects[key] = subject


def place_of(key: str, id: int, data: Values | None) -> tuple[str, int]:
    """Return the key of the resource whose readers may see a change, and the id of its row."""
    subject = subjects.get(key)
    if subject is None or subject.resource is None:
        return key, id
    return subject.resource, (data or {}).get(subject.id_key, id)


def insert_events(source: str) -> str:
    """Return the INSERT of the events that a SELECT returns: the account, the subject, the id, the name, the id of the user, the data."""
    return f"""
    INSERT INTO core_change (account_id, position, resource, id, change, at, import_id, actor_id, data)
    SELECT account_id, nextval('core_change_positions'), resource, id, change, clock_timestamp(),
        nullif(current_setting('changes.import_id', true), '')::bigint, actor_id, data
    FROM ({source}) AS event (account_id, resource, id, change, actor_id, data)
    """  # noqa: S608


RECORD = insert_events("VALUES (%s::bigint, %s::text, %s::bigint, %s::text, %s::bigint, %s::jsonb)")


def record_event(
    row: TenantRow,
    type: str,
    *,
    actor: Any,
    before: Values | None = None,
    after: Values | None = None,
    ids: Values | None = None,
) -> None:
    """Record an event of a row, in the transaction of the act. The caller must have locked the row of its resource.

    `actor` is the user who acts, or None. `ids` are the ids of other rows that the event is about.
    """
    if type not in kinds:
        raise LookupError(f"{type} is not registered as an event")
    subject, _dot, name = type.partition(".")
    data = orjson.dumps({"before": before, "after": after, **(ids or {})}).decode()
    with connection.cursor() as cursor:
        actor_id = None if actor is None else actor.id
        cursor.execute(RECORD, [row.account_id, subject, row.id, name, actor_id, data])
