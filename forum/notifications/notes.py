"""The notes that mention users, for notifications. The forum has no notes: the room that has them registers a `NoteSource`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db.models import Subquery

from accounts.access.rows import AccessQuerySet
from accounts.users.models import User
from core.db.tenancy import account_of
from core.registry import registry


@dataclass(frozen=True)
class NoteSource:
    """How notifications read notes, which have the columns `creator_id` and `mentioned_user_ids`."""

    # The key of notes in the registry and in the change feed.
    resource: str
    # An expression for the note whose id is in a column: a JSON object with its `title`, the beginning of its `text`, and what `path_of`
    # needs. Null if there is no such note.
    details_of: Callable[[str], Subquery]
    # The path of the page that shows a note, which is given as the JSON object.
    path_of: Callable[[Mapping[str, object]], str]

    def visible_to(self, user: User) -> AccessQuerySet[Any]:
        """Return the notes that the user, who is on the team, may see now."""
        rows: AccessQuerySet[Any] = registry[self.resource].rows_of(account_of(user.account_id))  # type: ignore[assignment]
        return rows.live().accessible_to(user)


_sources: list[NoteSource] = []


def register_note_source(source: NoteSource) -> None:
    """Register the source of notes. Call this in a module `registration`."""
    if _sources:
        raise ImproperlyConfigured("There can be only one source of notes.")
    _sources.append(source)


def note_source() -> NoteSource:
    [source] = _sources
    return source
