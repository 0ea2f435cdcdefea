"""The period of a report: whole months in the time zone of the account."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from core.errors import FieldError, FieldErrors
from core.http.regions import MONDAY, first_of_week
from team.conditions.periods import first_of_months

MAX_MONTHS = 36
DEFAULT_MONTHS = 12
_MONTH = re.compile(r"(2[01][0-9]{2})-(0[1-9]|1[0-2])", re.ASCII)


def next_month(month: date, number: int = 1) -> date:
    """Return the first day of the month that many months later."""
    count = month.year * 12 + month.month - 1 + number
    return date(count // 12, count % 12 + 1, 1)


class Step(TextChoices):
    """The parts of a period for which a report has rows."""

    WEEK = "week", _("Weeks")
    MONTH = "month", _("Months")
    QUARTER = "quarter", _("Quarters")


@dataclass(frozen=True)
class Period:
    """The months from `first` to `last`, both included, as their first days. Iterating yields the first day of each step."""

    first: date
    last: date
    zone: tzinfo
    step: str = Step.MONTH

    @classmethod
    def read(cls, first: str, last: str, *, account: Account, today: date, ahead: bool = False) -> "Period":
        """Return the period from `first` to `last` in the format `2026-11`. By default it is the last 12 months, or the next 12 (`ahead`).

        Raise FieldErrors for another format, and for more than 36 months.
        """
        this_month = today.replace(day=1)
        months, errors = {}, []
        for name, text in (("from", first), ("to", last)):
            if not text:
                continue
            if match := _MONTH.fullmatch(text):
                months[name] = date(int(match[1]), int(match[2]), 1)
            else:
                errors.append(FieldError(name, _("is not a month such as 2026-01"), "month"))
        if errors:
            raise FieldErrors(errors)
        before = DEFAULT_MONTHS - 1
        if "from" in months:
            begin = months["from"]
            end = months.get("to") or (next_month(begin, before) if ahead else max(begin, this_month))
        elif "to" in months:
            end = months["to"]
            begin = next_month(end, -before)
        elif ahead:
            begin, end = this_month, next_month(this_month, before)
        else:
            begin, end = next_month(this_month, -before), this_month
        if end < begin:
            raise FieldErrors([FieldError("to", _("is before the first month"), "order")])
        if begin < next_month(end, 1 - MAX_MONTHS):
            message = _("is more than {maximum} months after the first month")
            raise FieldErrors([FieldError("to", message, "too_long", {"maximum": MAX_MONTHS})])
        return cls(begin, end, account.zone)

    def __iter__(self) -> Iterator[date]:
        day = self.first_of_step(self.first)
        while day < self.end:
            yield day
            day = self.next_step(day)

    def first_of_step(self, day: date) -> date:
        """Return the first day of the step with a day. Weeks begin on Monday."""
        if self.step == Step.WEEK:
            return first_of_week(day, MONDAY)
        return first_of_months(day, 0, 3 if self.step == Step.QUARTER else 1)

    def next_step(self, first: date) -> date:
        if self.step == Step.WEEK:
            return first + timedelta(days=7)
        return next_month(first, 3 if self.step == Step.QUARTER else 1)

    def days_of(self, first: date) -> tuple[str, str]:
        """Return the days before and after a step, as far as it is in the period, for the filters `__after` and `__before` of lists."""
        begin, end = max(first, self.first), min(self.next_step(first), self.end)
        return (begin - timedelta(days=1)).isoformat(), end.isoformat()

    @property
    def end(self) -> date:
        """The day after the period."""
        return next_month(self.last)

    @property
    def times(self) -> tuple[datetime, datetime]:
        """The begin of the period, and its end, which does not belong to it."""
        begin, end = (datetime.combine(day, time(), tzinfo=self.zone) for day in (self.first, self.end))
        return begin, end


def days_of(month: date) -> tuple[str, str]:
    """Return the days before and after a month, for the filters `__after` and `__before` of lists."""
    return (month - timedelta(days=1)).isoformat(), next_month(month).isoformat()
