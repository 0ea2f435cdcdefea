"""The tasks of the team's pages: groups by the time when they are due, and what the pages do with a task."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db.models import Model, Q, QuerySet, Value
from django.utils import timezone

from accounts.account.models import Account
from accounts.users.models import User
from core.http.regions import first_of_week, first_weekday
from core.rows.values import ValuesRow
from forum.inbox.tabs import MAX_COUNT
from forum.lists.queries import PostQuerySet
from forum.posts.models import Post
from forum.posts.tasks import IS_OPEN_TASK, IS_TASK
from team.fields.names import name_of_row, name_of_user

# The number of tasks that the page shows of each group before "more".
GROUP_SIZE = 15
# The time of day of a task that gets only a date.
DEFAULT_TIME = time(9)
# The links of a task, with the related name of the rows on the account.
LINKS = {"client": "clients", "contact": "contacts", "deal": "deals"}
COLUMNS = (
    "id",
    "title",
    "task_kind",
    "scheduled_at",
    "due_day",
    "closed",
    "completed_at",
    "priority",
    "repeat_unit",
    "comments_cache",
    "responsible_id",
    "client_id",
    "contact_id",
    "deal_id",
)


@dataclass(frozen=True)
class Bounds:
    """The limits of the groups, in the time zone of the reader."""

    today: datetime
    tomorrow: datetime
    # The beginning of the next week.
    next_week: datetime

    @classmethod
    def now(cls) -> "Bounds":
        today = timezone.localdate()
        next_week = first_of_week(today, first_weekday()) + timedelta(days=7)
        return cls(start_of(today), start_of(today + timedelta(days=1)), start_of(next_week))

    def condition(self, group: str) -> Q:
        """Return the condition on `scheduled_at` for a group."""
        return {
            "overdue": Q(scheduled_at__lt=self.today),
            "today": Q(scheduled_at__gte=self.today, scheduled_at__lt=self.tomorrow),
            "week": Q(scheduled_at__gte=self.tomorrow, scheduled_at__lt=self.next_week),
            "later": Q(scheduled_at__gte=max(self.tomorrow, self.next_week)),
            "none": Q(scheduled_at=None),
        }[group]


GROUPS = ("overdue", "today", "week", "later", "none")


def start_of(day: date) -> datetime:
    """Return the beginning of a day in the active time zone."""
    return time_on(day, time())


def time_on(day: date, time_of_day: time = DEFAULT_TIME) -> datetime:
    """Return a time of a day in the active time zone."""
    return timezone.make_aware(datetime.combine(day, time_of_day))


def open_tasks(account: Account, user: User) -> PostQuerySet:
    """Return the open tasks of the account that the user may access."""
    rows: PostQuerySet = account.posts.filter(IS_OPEN_TASK).accessible_to(user)
    return rows


def all_tasks(account: Account, user: User) -> PostQuerySet:
    """Return the tasks of the account that the user may access, open or closed."""
    rows: PostQuerySet = account.posts.filter(IS_TASK).accessible_to(user)
    return rows


def ids_by_group(rows: QuerySet[Post], bounds: Bounds) -> dict[str, list[int]]:
    """Return the ids of the first open tasks of each group, one more than `GROUP_SIZE` if there are more, in one statement."""
    rows = rows.order_by("scheduled_at", "id")
    queries = [
        rows.filter(bounds.condition(group)).values_list(Value(number), "id")[: GROUP_SIZE + 1]
        for number, group in enumerate(GROUPS)
    ]
    ids: dict[str, list[int]] = {group: [] for group in GROUPS}
    for number, id in queries[0].union(*queries[1:], all=True):
        ids[GROUPS[number]].append(id)
    return ids


def items(account: Account, user: User, ids: Iterable[int] | QuerySet[Model, Any]) -> dict[int, ValuesRow]:
    """Return what lists show of tasks, by id. A client, contact or deal that the user may not access has no name.

    `ids` may be a query for them, which is then a part of the statement.
    """
    names = {
        f"{link}_name": name_of_row(getattr(account, relation).live().accessible_to(user), f"{link}_id")
        for link, relation in LINKS.items()
    }
    rows = account.posts.filter(id__in=ids if isinstance(ids, QuerySet) else list(ids)).values(
        *COLUMNS, responsible=name_of_user("responsible_id"), **names
    )
    return {row["id"]: row | {"is_late": is_late(row)} for row in rows}


def is_late(task: ValuesRow) -> bool:
    """Return whether the time of a task is over, or its day if it has no time of day."""
    if task["due_day"] is not None:
        return bool(task["due_day"] < timezone.localdate())
    return task["scheduled_at"] is not None and task["scheduled_at"] < timezone.now()


def due_tasks(account: Account, user: User) -> QuerySet[Model, Any]:
    """Return the ids of the user's open tasks that are due today or overdue, at most `MAX_COUNT` + 1."""
    # The user is responsible for these tasks, so the user may access them.
    rows = account.posts.filter(IS_OPEN_TASK, responsible_id=user.id, scheduled_at__lt=Bounds.now().tomorrow)
    return rows.order_by().values_list("id")[: MAX_COUNT + 1]
