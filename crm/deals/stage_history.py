"""The results of the deals that entered a stage in a period. The report shows their numbers, and the list of deals has a filter for each result.

A deal may enter a stage more than once, and each time counts. The result depends on the status that followed:

- `moved_on`: a status that comes later in the order of the statuses, and is open or won,
- `moved_back`: any other status that is not lost, or none,
- `lost`: a status whose outcome is lost,
- `here`: the deal is still in the stage.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time

from django.db.models import Model, OuterRef, Q, QuerySet, Subquery
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.statuses.models import Status

ENTERED, MOVED_ON, MOVED_BACK, LOST, HERE = "entered", "moved_on", "moved_back", "lost", "here"
LABELS: dict[str, str | Promise] = {
    ENTERED: _("Entered"),
    MOVED_ON: _("Moved on"),
    MOVED_BACK: _("Moved back"),
    LOST: _("Lost"),
    HERE: _("Still there"),
}
_FILTER = re.compile(
    r"(?P<status>[1-9][0-9]{0,17}):(?P<result>[a-z_]+):(?P<first>[0-9]{4}-[0-9]{2}-[0-9]{2}):(?P<end>[0-9]{4}-[0-9]{2}-[0-9]{2})",
    re.ASCII,
)


def entered_stages(account: Account, begin: datetime, end: datetime) -> QuerySet[Model]:
    """Return the stages that deals entered from `begin` until before `end`, each with the id of the next status of the deal."""
    following = account.deal_stages.filter(deal_id=OuterRef("deal_id"), number__gt=OuterRef("number"))
    next_status_id = Subquery(following.order_by("number").values("status_id")[:1])
    rows = account.deal_stages.filter(entered_at__gte=begin, entered_at__lt=end)
    return rows.annotate(next_status_id=next_status_id)


def result_of(status_id: int, next_id: int | None, statuses: Sequence[Status]) -> str:
    """Return the result of a stage that was left for another status. `statuses` are all statuses of deals, in order."""
    order = {status.id: position for position, status in enumerate(statuses)}
    if next_id not in order:
        return MOVED_BACK
    if statuses[order[next_id]].outcome == Status.Outcome.LOST:
        return LOST
    return MOVED_ON if order[next_id] > order.get(status_id, -1) else MOVED_BACK


@dataclass(frozen=True)
class StageFilter:
    """The filter of a list for the deals behind a number of the report. Its text is `12:lost:2026-01-01:2026-02-01`."""

    status_id: int
    result: str
    # The first day of the period, and the day after its last one, in the time zone of the account.
    first: date
    end: date

    @classmethod
    def read(cls, text: str) -> "StageFilter | None":
        """Return the filter with this text, or None for an invalid text."""
        match = _FILTER.fullmatch(text)
        if match is None or match["result"] not in LABELS:
            return None
        try:
            first, end = (date.fromisoformat(match[name]) for name in ("first", "end"))
        except ValueError:
            return None
        is_near = first.year >= 2000 and end.year < 2200
        return cls(int(match["status"]), match["result"], first, end) if is_near else None

    def __str__(self) -> str:
        return f"{self.status_id}:{self.result}:{self.first}:{self.end}"

    def stages(self, account: Account, statuses: Sequence[Status]) -> QuerySet[Model]:
        """Return the stages that the filter selects. `statuses` are all statuses of deals, in order."""
        begin, end = (datetime.combine(day, time(), tzinfo=account.zone) for day in (self.first, self.end))
        rows = entered_stages(account, begin, end).filter(status_id=self.status_id)
        if self.result == ENTERED:
            return rows
        if self.result == HERE:
            return rows.filter(left_at=None)
        found = {id: result_of(self.status_id, id, statuses) for id in (status.id for status in statuses)}
        ids = [id for id, result in found.items() if result == self.result]
        condition = Q(next_status_id__in=ids)
        if self.result == MOVED_BACK:
            # The status was taken from the deal, or it was deleted later.
            condition |= Q(next_status_id=None) | ~Q(next_status_id__in=list(found))
        return rows.filter(condition, left_at__isnull=False)
