"""The calendar of tasks: a month as a table, and the private feed of a user for calendar programs (iCalendar, RFC 5545)."""

from collections import defaultdict
from datetime import date, timedelta
from typing import Any

from django.contrib import messages
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _
from django.views import View

from accounts.mail.sending import supported_language
from accounts.sessions import throttling
from core.error_responses import throttled, unavailable
from core.errors import Throttled
from core.pages.base import base_url, redirect
from core.rows.values import ValuesRow
from team.menu.pages import TeamRequest
from team.tasks.calendar_feeds import CalendarFeed
from team.tasks.icalendar import calendar_of
from team.tasks.pages.actions import TaskActions
from team.tasks.queries import is_late, open_tasks, start_of

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
        first = month - timedelta(days=month.weekday())
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
        cells = [
            {
                "day": day,
                "classes": " ".join(
                    name
                    for name, applies in (
                        ("today", day == today),
                        ("outside", day.month != month.month),
                        ("free", not by_day[day]),
                    )
                    if applies
                ),
                "tasks": by_day[day][:DAY_SIZE],
                "rest": by_day[day][DAY_SIZE:],
            }
            for day in days
        ]
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
