"""Tasks: posts without a category, which only the team sees. Their constraint, the indexes of their lists, their page, and how they repeat."""

from calendar import monthrange
from datetime import datetime, timedelta, tzinfo

from django.db import models
from django.db.models import Q
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

IS_TASK = Q(trashed_at=None, category_id=None)
IS_OPEN_TASK = Q(trashed_at=None, category_id=None, closed=False)
# A task has a time of completion while it is closed.
COMPLETION_OF_TASK = (
    Q(category_id__isnull=False) | Q(closed=False, completed_at=None) | Q(closed=True, completed_at__isnull=False)
)

# The most days, weeks or months between a task that repeats and the next one.
MAX_REPEAT = 365


class RepeatUnit(models.TextChoices):
    DAY = "day", _("Day")
    WEEK = "week", _("Week")
    MONTH = "month", _("Month")


def day_of_series(at: datetime, day: int | None) -> int:
    """Return the day of the month of a monthly series with a task at a time: `day`, unless the task was moved to another day."""
    last = monthrange(at.year, at.month)[1]
    return day if day is not None and at.day == min(day, last) else at.day


def next_time(at: datetime, unit: str, every: int, day: int, *, after: datetime, zone: tzinfo) -> datetime | None:
    """Return the first time of a series after `after`, at the same time of day in the zone. None if the calendar ends before.

    `day` is the day of a monthly series. A month that is shorter has the task on its last day.
    """
    local = at.astimezone(zone).replace(tzinfo=None)
    days = every * (7 if unit == RepeatUnit.WEEK else 1)
    # Times that have passed are skipped.
    number = 1 if unit == RepeatUnit.MONTH else max(1, (after - at).days // days)
    try:
        while True:
            if unit == RepeatUnit.MONTH:
                year, month = divmod(local.year * 12 + local.month - 1 + every * number, 12)
                last = monthrange(year, month + 1)[1]
                found = local.replace(year=year, month=month + 1, day=min(day, last))
            else:
                found = local + timedelta(days=days * number)
            if (result := found.replace(tzinfo=zone)) > after:
                return result
            number += 1
    except (ValueError, OverflowError):
        return None


INDEXES = [
    # The orders by time. The tasks without a time are at the end of the index.
    models.Index(fields=["account", "scheduled_at", "id"], name="task_by_schedule", condition=IS_TASK),
    models.Index(fields=["account", "completed_at", "id"], name="task_by_completion", condition=IS_TASK),
    # The open tasks of the team and of a user, by time.
    models.Index(fields=["account", "scheduled_at", "id"], name="task_open", condition=IS_OPEN_TASK),
    models.Index(
        fields=["account", "responsible_id", "scheduled_at", "id"],
        name="task_of_responsible",
        condition=IS_OPEN_TASK & Q(responsible_id__isnull=False),
    ),
    # The closed tasks of a user, by the time when they were closed.
    models.Index(
        fields=["account", "responsible_id", "completed_at", "id"],
        name="task_done_by_responsible",
        condition=IS_TASK & Q(closed=True, responsible_id__isnull=False),
    ),
    # The next task of a client, a contact or a deal.
    *(
        models.Index(
            fields=["account", f"{target}_id", "scheduled_at"],
            name=f"task_of_{target}",
            condition=IS_OPEN_TASK & Q(**{f"{target}_id__isnull": False, "scheduled_at__isnull": False}),
        )
        for target in ("client", "contact", "deal")
    ),
    # The index begins with the time, because the job that creates reminders reads all accounts.
    models.Index(
        Coalesce("remind_at", "scheduled_at"),
        name="task_reminder_time",
        condition=IS_OPEN_TASK
        & Q(responsible_id__isnull=False)
        & (Q(remind_at__isnull=False) | Q(scheduled_at__isnull=False)),
    ),
]

# The route of the page of a task (`register_task_route`).
_task_routes: list[str] = []


def task_path(id: int | None, comment_id: int | None = None) -> str:
    """Return the path of the page of a task, or of a comment on it."""
    [route] = _task_routes
    return reverse(route, args=[id], fragment=None if comment_id is None else f"comment-{comment_id}")


def register_task_route(name: str) -> None:
    """Set the route of the page of a task, which an upper app defines. Its only parameter is the id."""
    _task_routes[:] = [name]
