"""Tasks as a calendar (iCalendar, RFC 5545)."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from django.db.models import OuterRef, Subquery, Value
from django.db.models.functions import Coalesce, NullIf
from django.utils.translation import gettext as _

from accounts.users.models import User
from core.api.routing import path_with_id
from core.rows.values import ValuesRow
from team.tasks.queries import LINKS, open_tasks

# The feed has the user's open tasks that are due from 30 days ago until a year from now, at most `MAX_EVENTS`.
PAST, FUTURE, MAX_EVENTS = timedelta(days=30), timedelta(days=366), 1000
# The length of an event, as tasks have none.
DURATION = "PT30M"
# A line has at most this number of bytes (RFC 5545, section 3.1).
MAX_LINE_BYTES = 75
MAX_DESCRIPTION = 2000


# A calendar has at least one component (RFC 5545, section 3.6). An empty one has this time zone.
UTC_ZONE = (
    "BEGIN:VTIMEZONE",
    "TZID:Etc/UTC",
    "BEGIN:STANDARD",
    "DTSTART:19700101T000000",
    "TZOFFSETFROM:+0000",
    "TZOFFSETTO:+0000",
    "END:STANDARD",
    "END:VTIMEZONE",
)


def calendar_of(user: User, base_url: str, *, now: datetime) -> str:
    """Return the calendar with the tasks for which the user is responsible, in the active language."""
    events = [line for task in tasks_of(user, now) for line in event_of(task, base_url)]
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Rostrum//Tasks//EN",
        "CALSCALE:GREGORIAN",
        f"X-WR-CALNAME:{escape(_('Tasks'))}",
        "REFRESH-INTERVAL;VALUE=DURATION:PT15M",
        *(events or UTC_ZONE),
        "END:VCALENDAR",
    ]
    return "".join(f"{part}\r\n" for line in lines for part in fold(line))


def tasks_of(user: User, now: datetime) -> list[dict[str, object]]:
    """Return the tasks of the feed. A client or contact that the user may not access has neither a name nor a telephone number."""
    rows = open_tasks(user.account, user).filter(
        responsible_id=user.id, scheduled_at__gte=now - PAST, scheduled_at__lt=now + FUTURE
    )
    columns = ("id", "title", "content", "scheduled_at", "due_day", "remind_at", "updated_at")
    linked: dict[str, object] = {}
    for link in ("client", "contact"):
        found = getattr(user.account, LINKS[link]).live().accessible_to(user).filter(id=OuterRef(f"{link}_id"))
        number = Coalesce(NullIf("phone", Value("")), "mobile_phone")
        linked |= {
            f"{link}_name": Subquery(found.values("name")),
            f"{link}_phone": Subquery(found.values(found=number)),
        }
    return list(rows.order_by("scheduled_at", "id").values(*columns, **linked)[:MAX_EVENTS])


def event_of(task: ValuesRow, base_url: str) -> list[str]:
    """Return the lines of a task. A task without a time of day is an event of the whole day."""
    host, url = base_url.partition("://")[2], f"{base_url}{path_with_id('team-task', task['id'])}"
    times = [f"DTSTART:{stamp(task['scheduled_at'])}", f"DURATION:{DURATION}"]
    return [
        "BEGIN:VEVENT",
        f"UID:task-{task['id']}@{host}",
        f"DTSTAMP:{stamp(task['updated_at'])}",
        f"LAST-MODIFIED:{stamp(task['updated_at'])}",
        *(times if task["due_day"] is None else [f"DTSTART;VALUE=DATE:{task['due_day']:%Y%m%d}"]),
        f"SUMMARY:{escape(task['title'])}",
        f"DESCRIPTION:{escape(description_of(task, url))}",
        f"URL:{url}",
        "TRANSP:TRANSPARENT",
        *alarm_of(task),
        "END:VEVENT",
    ]


def description_of(task: ValuesRow, url: str) -> str:
    """Return what a reader needs on the way: whom the task is about, their telephone number, the description, and the link."""
    facts = (
        (_("Client"), task["client_name"]),
        (_("Contact"), task["contact_name"]),
        (_("Telephone"), task["contact_phone"] or task["client_phone"]),
    )
    lines = [f"{label}: {value}" for label, value in facts if value]
    return "\n".join([*lines, *filter(None, [task["content"][:MAX_DESCRIPTION]]), url])


def alarm_of(task: ValuesRow) -> list[str]:
    if task["remind_at"] is None:
        return []
    return [
        "BEGIN:VALARM",
        "ACTION:DISPLAY",
        f"DESCRIPTION:{escape(task['title'])}",
        f"TRIGGER;VALUE=DATE-TIME:{stamp(task['remind_at'])}",
        "END:VALARM",
    ]


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
