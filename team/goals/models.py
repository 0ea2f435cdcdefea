"""Goals: the number or the sum of the deals that a user, or the whole team, wants to win in each month or quarter."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Self

from django.db import models
from django.db.models import Count, Q, Sum, Value
from django.db.models.functions import Coalesce, TruncMonth
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.account.exchange_rates import ConvertedSum
from accounts.account.models import Account
from accounts.audit.models import Audited
from accounts.statuses.models import Status
from accounts.users.models import User
from core.db.locks import LockableQuerySet
from core.db.tenancy import TenantModel, foreign_object
from core.errors import Conflict, FieldError
from core.registry import Resource
from team.conditions.periods import first_of_months

MAX_GOALS, MAX_TARGET = 200, 10**12


class Goal(Audited, TenantModel):
    """A goal of a user for each month or quarter. Without a user, it is a goal of the team."""

    api_resource = Resource("goal", _("Goal"), _("Goals"), icon="target")
    audit_group, audited = "goal", ("user_id", "period", "measure", "target")

    class Period(models.TextChoices):
        MONTH = "month", _("Each month")
        QUARTER = "quarter", _("Each quarter")

    class Measure(models.TextChoices):
        DEALS = "deals", _("Number of won deals")
        AMOUNT = "amount", _("Amount of won deals")

    user_id = models.BigIntegerField(null=True)
    user = foreign_object(User, "user_id", null=True)
    period = models.CharField(max_length=255, choices=Period.choices, default=Period.MONTH)
    measure = models.CharField(max_length=255, choices=Measure.choices, default=Measure.AMOUNT)
    # An amount is in the currency of the account.
    target = models.BigIntegerField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = LockableQuerySet.as_manager()

    class Meta:
        default_related_name = "goals"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "user_id", "period", "measure"],
                name="goal_unique",
                nulls_distinct=False,
            ),
            models.CheckConstraint(condition=Q(target__gt=0), name="goal_target_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.target} {self.measure} in each {self.period}"

    def write(self, values: Mapping[str, object]) -> None:
        """Insert the goal, or update the fields in `values`. Raise Conflict if there is one like it, FieldError if there are too many."""
        for name, value in values.items():
            setattr(self, name, value)
        self.account.lock()
        others = self.account.goals.exclude(id=self.id)
        if others.filter(user_id=self.user_id, period=self.period, measure=self.measure).exists():
            raise Conflict(_("There is another goal for this user, period and measure"))
        if self._state.adding and others.count() >= MAX_GOALS:
            raise FieldError("goal", _("is one too many (maximum is {most})"), "too_many", {"most": MAX_GOALS})
        if self._state.adding:
            self.save(force_insert=True)
        else:
            self.updated_at = timezone.now()
            self.save(update_fields={*values, "updated_at"})


# What was won


@dataclass(frozen=True)
class Won:
    """The number of won deals, and the sum of their amounts in the currency of the account."""

    deals: int
    amount: ConvertedSum

    @classmethod
    def add_up(cls, account: Account, rows: Iterable["WonRow"]) -> Self:
        rows = list(rows)
        return cls(sum(row.deals for row in rows), account.convert((row.currency, row.total) for row in rows))

    def value_of(self, measure: str) -> Decimal:
        return self.amount.sum if measure == Goal.Measure.AMOUNT else Decimal(self.deals)


@dataclass(frozen=True)
class WonRow:
    user_id: int | None
    month: date
    currency: str
    deals: int
    total: Decimal


def first_day(period: str, day: date) -> date:
    """Return the first day of the month or the quarter with a day."""
    return first_of_months(day, 0, 3 if period == Goal.Period.QUARTER else 1)


def won_since(account: Account, user: User, day: date, statuses: Iterable[Status]) -> list[WonRow]:
    """Return what was won since a day, by the responsible user, the month and the currency, of the deals that the user may access."""
    won = [status.id for status in statuses if status.outcome == Status.Outcome.WON]
    begin = datetime.combine(day, time(), tzinfo=account.zone)
    deals = account.deals.live().accessible_to(user).in_statuses(won).filter(closed_at__gte=begin).order_by()
    groups = deals.values("responsible_id", "currency", month=TruncMonth("closed_at", tzinfo=account.zone))
    sums = groups.annotate(deals=Count("id"), total=Coalesce(Sum("price"), Value(Decimal(0))))
    columns = ("responsible_id", "month", "currency", "deals", "total")
    return [WonRow(id, month.date(), *rest) for id, month, *rest in sums.values_list(*columns)]


@dataclass(frozen=True)
class Progress:
    """How far a goal is in the current month or quarter."""

    goal: Goal
    done: Decimal

    @property
    def share(self) -> int:
        """The part that is reached, in per cent."""
        return int(self.done * 100 / self.goal.target)

    @property
    def is_reached(self) -> bool:
        return self.done >= self.goal.target


def progress_of(account: Account, goals: Iterable[Goal], rows: Iterable[WonRow], today: date) -> list[Progress]:
    """Return the progress of goals, from what was won since the beginning of the quarter."""
    rows = list(rows)
    found = []
    for goal in goals:
        first = first_day(goal.period, today)
        chosen = [row for row in rows if row.month >= first and goal.user_id in (None, row.user_id)]
        found.append(Progress(goal, Won.add_up(account, chosen).value_of(goal.measure)))
    return found
