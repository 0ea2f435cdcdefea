"""The calendar of tasks: a month as a table, and the private feed of a user for calendar programs (iCalendar, RFC 5545)."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.contrib import messages
from django.db import InterfaceError, OperationalError
from django.db.models import OuterRef, Subquery, Value
from django.db.models.functions import Coalesce, NullIf
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _
from django.views import View

from accounts.mail.sending import supported_language
from accounts.sessions import throttling
from accounts.users.models import User
from core.api.routing import path_with_id
from core.error_responses import throttled, unavailable
from core.errors import Throttled
from core.http.regions import first_of_week, first_weekday
from core.pages.base import base_url, redirect
from core.rows.values import ValuesRow
from team.menu.pages import TeamRequest
from team.tasks.models import CalendarFeed
from team.tasks.pages.list import TaskActions
from team.tasks.queries import LINKS, is_late, open_tasks, start_of

# The tasks of a day that the table shows before "more", and the most tasks of a month that are read.
DAY_SIZE, MAX_TASKS = 3, 1000


def month_of(text: str | None, today: date) -> date:
    """Return the first day of the month in the format `2026-11`. Raise Http404 for another text."""
    if not text:
        return today.replace(day=1)
    try:
        month = parse_date(f"{text}-01")
    except ValueError:
        month = None
    if month is None or not 2000 <= month.year < 2100:
        raise Http404
    return month


class CalendarPage(TaskActions):
    """The open tasks of a month by day, and the address of the feed."""

    template_name = "team/tasks/calendar.html"
    actions = {"create_feed": "create_feed", "revoke_feed": "revoke_feed"}

    def get(self, request: TeamRequest) -> HttpResponse:
        return self.show()

    def show(self, **context: Any) -> HttpResponse:
        request, today = self.request, timezone.localdate()
        month = month_of(request.GET.get("month"), today)
        next_month = (month + timedelta(days=32)).replace(day=1)
        first = first_of_week(month, first_weekday())
        days = [first + timedelta(days=number) for number in range((next_month - first).days)]
        days += [days[-1] + timedelta(days=number + 1) for number in range(-len(days) % 7)]
        who, responsible, people = self.read_responsible()
        rows = open_tasks(request.account, request.user).filter(
            scheduled_at__gte=start_of(days[0]), scheduled_at__lt=start_of(days[-1] + timedelta(days=1))
        )
        if responsible is not None:
            rows = rows.filter(responsible_id=responsible)
        columns = ("id", "title", "scheduled_at", "due_day")
        tasks: list[ValuesRow] = list(rows.order_by("scheduled_at", "id").values(*columns)[: MAX_TASKS + 1])
        by_day: defaultdict[date, list[ValuesRow]] = defaultdict(list)
        for task in tasks[:MAX_TASKS]:
            task["is_late"] = is_late(task)
            by_day[timezone.localtime(task["scheduled_at"]).date()].append(task)
        cells = []
        for day in days:
            states = {"today": day == today, "outside": day.month != month.month, "free": not by_day[day]}
            classes = " ".join(name for name, applies in states.items() if applies)
            listed = by_day[day]
            cells.append({"day": day, "classes": classes, "tasks": listed[:DAY_SIZE], "rest": listed[DAY_SIZE:]})
        feed = CalendarFeed.objects.filter(account_id=request.account.id, user_id=request.user.id).first()
        return self.render(
            weeks=[cells[start : start + 7] for start in range(0, len(cells), 7)],
            month=month,
            previous=(month - timedelta(days=1)) if month.year > 2000 else None,
            next=next_month if next_month.year < 2100 else None,
            who=who,
            people=people,
            is_cut=len(tasks) > MAX_TASKS,
            feed=feed,
            **context,
        )

    def create_feed(self) -> HttpResponse:
        """Create a new address for the feed, and show it once. An earlier address no longer works."""
        token = CalendarFeed.objects.issue(self.request.user)
        path = reverse("team-tasks-ics", query={"token": token})
        return self.show(feed_url=f"{base_url(self.request)}{path}")

    def revoke_feed(self) -> HttpResponse:
        CalendarFeed.objects.filter(account_id=self.request.account.id, user_id=self.request.user.id).delete()
        messages.success(self.request, _("The address of the calendar no longer works."))
        return redirect("team-tasks-calendar")


class FeedView(View):
    """The open tasks of a user as a calendar. The token in the address identifies the user, without a session."""

    def get(self, request: HttpRequest) -> HttpResponse:
        page_request: Any = request
        try:
            account = page_request.account
            feed = CalendarFeed.objects.find(account, request.GET.get("token", "")) if account is not None else None
            if feed is None:
                throttling.count_wrong_token(page_request)
                raise Http404
            language = supported_language(feed.user.language or feed.user.account.language)
            with translation.override(language):
                text = calendar_of(feed.user, base_url(request), now=timezone.now())
        except Throttled as error:
            return throttled(request, error)
        except (OperationalError, InterfaceError):
            return unavailable(request)
        return HttpResponse(
            text,
            content_type="text/calendar; charset=utf-8",
            headers={"Cache-Control": "private, no-cache", "Content-Disposition": 'inline; filename="tasks.ics"'},
        )


# The feed

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
    rows = open_tasks(user.account, user).filter(scheduled_at__gte=now - PAST, scheduled_at__lt=now + FUTURE)
    columns = ("id", "title", "content", "scheduled_at", "due_day", "remind_at", "updated_at")
    linked: dict[str, object] = {}
    for link in ("client", "contact"):
        found = getattr(user.account, LINKS[link]).live().accessible_to(user).filter(id=OuterRef(f"{link}_id"))
        number = Coalesce(NullIf("phone", Value("")), "mobile_phone")
        linked[f"{link}_name"] = Subquery(found.values("name"))
        linked[f"{link}_phone"] = Subquery(found.values(found=number))
    rows = rows.filter(responsible_id=user.id).order_by("scheduled_at", "id")
    return list(rows.values(*columns, **linked)[:MAX_EVENTS])


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
