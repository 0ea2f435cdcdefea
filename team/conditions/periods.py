"""Periods that move with time, such as `last_7_days`, as values of conditions on dates and times.

Each period is a range of days from `first` until before `end`. `last_7_days` and `next_7_days` include today.
"""

import re
from datetime import date, timedelta

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from core.http.regions import MONDAY, first_of_week

MAX_DAYS = 3650

_DAYS = re.compile(r"(last|next)_([1-9][0-9]{0,3})_days?", re.ASCII)
_UNIT = re.compile(r"(last|this|next)_(week|month|quarter|year)", re.ASCII)
_STEPS = {"last": -1, "this": 0, "next": 1}
# The labels of the periods, in the order of a form. `last_days` and `next_days` stand for a number of days that the user enters.
LABELS: dict[str, str | Promise] = {
    "today": _("today"),
    "yesterday": _("yesterday"),
    "tomorrow": _("tomorrow"),
    "this_week": _("this week"),
    "last_week": _("last week"),
    "next_week": _("next week"),
    "this_month": _("this month"),
    "last_month": _("last month"),
    "next_month": _("next month"),
    "this_quarter": _("this quarter"),
    "last_quarter": _("last quarter"),
    "next_quarter": _("next quarter"),
    "this_year": _("this year"),
    "last_year": _("last year"),
    "next_year": _("next year"),
}
DAYS_LABELS: dict[str, str | Promise] = {"last_days": _("in the last … days"), "next_days": _("in the next … days")}


def find_period(text: str, today: date, weekday: int = MONDAY) -> tuple[date, date] | None:
    """Return the first day of a period and the day after its last one, or None if the text is no period. Weeks begin on `weekday`."""
    match text:
        case "today" | "yesterday" | "tomorrow":
            day = today + timedelta(days={"yesterday": -1, "today": 0, "tomorrow": 1}[text])
            return day, day + timedelta(days=1)
    if match := _DAYS.fullmatch(text):
        days = timedelta(days=int(match[2]))
        if days.days > MAX_DAYS:
            return None
        tomorrow = today + timedelta(days=1)
        return (tomorrow - days, tomorrow) if match[1] == "last" else (today, today + days)
    if match := _UNIT.fullmatch(text):
        step = _STEPS[match[1]]
        if match[2] == "week":
            first = first_of_week(today, weekday) + timedelta(weeks=step)
            return first, first + timedelta(weeks=1)
        months = _MONTHS[match[2]]
        return first_of_months(today, step, months), first_of_months(today, step + 1, months)
    return None


def period_label(text: str) -> str:
    """Return a period for people, or "" if the text is no period."""
    if text in LABELS:
        return str(LABELS[text])
    if match := _DAYS.fullmatch(text):
        days = int(match[2])
        if match[1] == "last":
            return ngettext("in the last %(n)d day", "in the last %(n)d days", days) % {"n": days}
        return ngettext("in the next %(n)d day", "in the next %(n)d days", days) % {"n": days}
    return ""


def split_days(text: str) -> tuple[str, str]:
    """Return a period as a form has it: a key of `LABELS` or `DAYS_LABELS`, and the number of days; both "" for another text."""
    if match := _DAYS.fullmatch(text):
        return f"{match[1]}_days", match[2]
    return (text, "") if text in LABELS else ("", "")


def first_of_months(day: date, step: int, months: int) -> date:
    """Return the first day of a block of `months` months, such as a quarter, `step` blocks from that of a day."""
    number = (day.year * 12 + day.month - 1) // months * months + step * months
    return date(number // 12, number % 12 + 1, 1)


_MONTHS = {"month": 1, "quarter": 3, "year": 12}
