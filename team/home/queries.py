"""The boxes of Home. Each has at most `BOX_SIZE` rows, and links to the list with all of them."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Exists, F, Model, OuterRef, Q, QuerySet
from django.utils import timezone

from accounts.account.models import Account
from accounts.statuses.models import Status, status_name
from accounts.users.models import User
from core.db.time_limit import TooSlow, time_limit
from core.rows.values import ValuesRow
from forum.inbox import tabs
from forum.notifications.models import Notification, NotificationReason
from forum.posts.tasks import IS_OPEN_TASK
from team.board.columns import days_since, is_rotting
from team.fields.names import name_of_row
from team.goals.models import Goal, Progress, Won, first_day, progress_of, won_since
from team.tasks.queries import Bounds, items, open_tasks

BOX_SIZE = 6
# The days before the expected close in which a deal closes soon.
SOON_DAYS = 14
# The milliseconds that a statement over deals may take. After it, the box only links to the list.
TIME_LIMIT_MS = 150


@dataclass(frozen=True)
class HomeDeal:
    """An open deal that closes soon, should have closed, or is too long in its status."""

    id: int
    name: str
    client_name: str | None
    price: Decimal | None
    currency: str
    expected_close_date: date | None
    stage_entered_at: datetime | None
    is_planned: bool
    status: Status
    today: date

    @property
    def status_name(self) -> str:
        return status_name(self.status)

    @property
    def days_in_stage(self) -> int:
        return days_since(self.stage_entered_at)

    @property
    def is_rotting(self) -> bool:
        return is_rotting(self.days_in_stage, self.status.rot_days, is_planned=self.is_planned)

    @property
    def is_overdue(self) -> bool:
        return self.expected_close_date is not None and self.expected_close_date < self.today


@dataclass(frozen=True)
class Month:
    """The deals that were won in this month, by the user and by the whole team, and the goals of both. Hidden deals do not count."""

    mine: Won
    team: Won
    goals: list[Progress]


@dataclass(frozen=True)
class Home:
    tasks: list[ValuesRow]
    # None if finding the deals took too long.
    deals: list[HomeDeal] | None
    mentions: list[Notification]
    suggestions: list[ValuesRow]
    month: Month | None

    @classmethod
    def read(cls, account: Account, user: User, forum_ids: list[int]) -> "Home":
        """Return the boxes, each with one row more than `BOX_SIZE` if there are more. The suggestions are those of the forums."""
        mentions = account.notifications.shown_to(user).unread().filter(reason=NotificationReason.MENTIONED)
        suggestions = tabs.posts_in("unanswered", account, forum_ids, user, stop=BOX_SIZE + 1)
        deals, month = read_deals_and_month(account, user)
        return cls(
            tasks=due_tasks(account, user),
            deals=deals,
            mentions=list(mentions.with_details()[: BOX_SIZE + 1]),
            suggestions=list(suggestions.values("id", "title", "votes_cache", "created_at")[: BOX_SIZE + 1]),
            month=month,
        )


def due_tasks(account: Account, user: User) -> list[ValuesRow]:
    """Return the open tasks of the user that are due today or overdue, by time."""
    rows = open_tasks(account, user).filter(responsible_id=user.id, scheduled_at__lt=Bounds.now().tomorrow)
    first = rows.order_by("scheduled_at", "id").values("id")[: BOX_SIZE + 1]
    return sorted(items(account, user, first).values(), key=lambda row: (row["scheduled_at"], row["id"]))


def read_deals_and_month(account: Account, user: User) -> tuple[list[HomeDeal] | None, Month | None]:
    today = timezone.now().astimezone(account.zone).date()
    goals = list(account.goals.filter(Q(user_id=None) | Q(user_id=user.id)).order_by("user_id", "id"))
    deals, month = None, None
    try:
        with time_limit(TIME_LIMIT_MS):
            statuses = account.deal_statuses()
            quarters = any(goal.period == Goal.Period.QUARTER for goal in goals)
            first = first_day(Goal.Period.QUARTER if quarters else Goal.Period.MONTH, today)
            rows = won_since(account, user, first, statuses)
            in_month = [row for row in rows if row.month >= today.replace(day=1)]
            mine = Won.add_up(account, (row for row in in_month if row.user_id == user.id))
            month = Month(mine, Won.add_up(account, in_month), progress_of(account, goals, rows, today))
            deals = urgent_deals(account, user, statuses, today)
    except TooSlow:
        pass
    return deals, month


def urgent_deals(account: Account, user: User, statuses: list[Status], today: date) -> list[HomeDeal]:
    """Return the open deals of the user that close soon or are rotting: those with the earliest day first."""
    opened = {status.id: status for status in statuses if status.outcome == Status.Outcome.OPEN}
    tasks = account.posts.filter(IS_OPEN_TASK, deal_id=OuterRef("id"))
    urgent, rotting = Q(expected_close_date__lte=today + timedelta(days=SOON_DAYS)), Q()
    for status in opened.values():
        if status.rot_days is not None:
            since = timezone.now() - timedelta(days=status.rot_days)
            rotting |= Q(status_id=status.id, stage_entered_at__lte=since)
    if rotting:
        urgent |= rotting & ~Q(Exists(tasks))
    rows: QuerySet[Model, Any] = account.deals.live().in_statuses(opened).filter(urgent, responsible_id=user.id)
    rows = rows.order_by(F("expected_close_date").asc(nulls_last=True), "id")
    clients = account.clients.live().accessible_to(user)
    columns = ("id", "name", "price", "currency", "expected_close_date", "stage_entered_at", "status_id")
    found = rows.values(*columns, is_planned=Exists(tasks), client_name=name_of_row(clients, "client_id"))
    return [
        HomeDeal(status=opened[row.pop("status_id") or Status.NONE_ID], today=today, **row)
        for row in found[: BOX_SIZE + 1]
    ]
