"""Tasks as a calendar (iCalendar, RFC 5545)."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from django.utils.translation import gettext as _

from accounts.models import User
from core.pages.routes import path_with_id
from workspace.tasks import open_tasks

# The feed has the user's open tasks that are due from 30 days ago until a year from now, at most `MAX_EVENTS`.
PAST, FUTURE, MAX_EVENTS = timedelta(days=30), timedelta(days=366), 1000
# The length of an event, as tasks have none.
DURATION = "PT30M"
# A line has at most this number of bytes (RFC 5545, section 3.1).
MAX_LINE_BYTES = 75
MAX_DESCRIPTION = 2000


def calendar_of(user: User, base_url: str, *, now: datetime) -> str:
    """Return the calendar with the tasks for which the user is responsible."""
    rows = open_tasks(user.account, user).filter(
        responsible_id=user.id, scheduled_at__gte=now - PAST, scheduled_at__lt=now + FUTURE
    )
    columns = ("id", "title", "content", "scheduled_at", "updated_at")
    tasks = rows.order_by("scheduled_at", "id").values_list(*columns)[:MAX_EVENTS]
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Rostrum//Tasks//EN",
        "CALSCALE:GREGORIAN",
        f"X-WR-CALNAME:{escape(_('Tasks'))}",
        "REFRESH-INTERVAL;VALUE=DURATION:PT15M",
    ]
    host = base_url.partition("://")[2]
    for id, title, content, scheduled_at, updated_at in tasks:
        lines += [
            "BEGIN:VEVENT",
            f"UID:task-{id}@{host}",
            f"DTSTAMP:{stamp(updated_at)}",
            f"LAST-MODIFIED:{stamp(updated_at)}",
            f"DTSTART:{stamp(scheduled_at)}",
            f"DURATION:{DURATION}",
            f"SUMMARY:{escape(title)}",
            *([f"DESCRIPTION:{escape(content[:MAX_DESCRIPTION])}"] if content else []),
            f"URL:{base_url}{path_with_id('workspace-task', id)}",
            "TRANSP:TRANSPARENT",
            "END:VEVENT",
        ]
    lines.append("END:VCALENDAR")
    return "".join(f"{part}\r\n" for line in lines for part in fold(line))


def stamp(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def escape(text: str) -> str:
    """Return a text value (RFC 5545, section 3.3.11)."""
    for character in "\\;,":
        text = text.replace(character, f"\\{character}")
    text = "\\n".join(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    return "".join(character for character in text if (character >= " " and character != "\x7f") or character == "\t")


def fold(line: str) -> Iterator[str]:
    """Divide a line into lines of at most 75 bytes. Each one after the first begins with a space."""
    part, size = "", 0
    for character in line:
        length = len(character.encode())
        if size + length > MAX_LINE_BYTES:
            yield part
            part, size = " ", 1
        part, size = part + character, size + length
    yield part
