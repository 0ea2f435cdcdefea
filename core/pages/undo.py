"""Messages with a button that undoes what they tell."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from django.contrib import messages
from django.http import HttpRequest

PREFIX = "undo "


@dataclass(frozen=True)
class Undo:
    """The form that the button sends: the path, and the values of its fields."""

    path: str
    values: dict[str, str] = field(default_factory=dict)


def tell_with_undo(request: HttpRequest, text: str, undo: Undo) -> None:
    """Show a message with the button on the next page. Messages are signed, so nobody else chooses the form."""
    messages.success(request, text, extra_tags=PREFIX + json.dumps(asdict(undo)))


def undo_of(message: Any) -> Undo | None:
    """Return the form of the button of a message, or None."""
    tags = message.extra_tags or ""
    return Undo(**json.loads(tags.removeprefix(PREFIX))) if tags.startswith(PREFIX) else None
