"""The stages of a deal on its page: the path of its pipeline, the time in the present status, and the history."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Model, QuerySet
from django.utils import timezone

from accounts.account.models import Account
from accounts.statuses.models import Status
from core.db.prepared import prepared
from core.db.tenancy import account_of
from crm.deals.models import Deal
from forum.posts.tasks import IS_OPEN_TASK
from team.board.columns import days_since, is_rotting
from team.fields.names import name_of_user
from team.menu.pages import TeamRequest

# The number of stages that the history shows, the newest first.
MAX_STAGES = 20


@dataclass(frozen=True)
class Stage:
    """A status that the deal has or had."""

    # None if the status was deleted meanwhile.
    status: Status | None
    entered_at: datetime
    left_at: datetime | None
    user_name: str | None

    @property
    def days(self) -> int:
        """The number of whole days in the status."""
        return max(0, ((self.left_at or timezone.now()) - self.entered_at).days)


def stages_of(request: TeamRequest, deal: Deal) -> dict[str, object]:
    """Return what the templates show of the stages, in three statements."""
    account = request.account
    none, *statuses = account.deal_statuses()
    by_id = {status.id: status for status in (none, *statuses)}
    history = read_history(request, deal, by_id)
    # A status that was created since the statuses were read is not shown.
    current = by_id.get(deal.column, none)
    path = [status for status in statuses if status.pipeline_id == current.pipeline_id]
    position = path.index(current) if current in path else -1
    days = days_since(deal.stage_entered_at)
    is_open = current.outcome == Status.Outcome.OPEN
    is_planned = is_open and account.posts.filter(IS_OPEN_TASK, deal_id=deal.id).exists()
    return {
        # Buttons of their own mark the deal as won or lost, which asks for a reason.
        "stages": [
            (status, n < position, n == position)
            for n, status in enumerate(path)
            if status.outcome == Status.Outcome.OPEN or n == position
        ],
        "stage": current,
        "stage_days": None if current is none else days,
        "is_rotting": is_open and is_rotting(days, current.rot_days, is_planned=is_planned),
        "won": first_with(path, Status.Outcome.WON) if is_open else None,
        "lost": first_with(path, Status.Outcome.LOST) if is_open else None,
        "reopened": None if is_open else reopened(path, history),
        "stage_history": history,
    }


def read_history(request: TeamRequest, deal: Deal, statuses: dict[int, Status]) -> list[Stage]:
    rows = _stages(account_id=request.account.id, deal_id=deal.id)
    return [Stage(statuses.get(status_id or Status.NONE_ID), *others) for status_id, *others in rows]


@prepared(account_id=int, deal_id=int)
def _stages(account_id: int, deal_id: int) -> QuerySet[Model, object]:
    account: Account = account_of(account_id)
    rows = account.deal_stages.filter(deal_id=deal_id).annotate(user_name=name_of_user("user_id"))
    return rows.order_by("-number").values_list("status_id", "entered_at", "left_at", "user_name")[:MAX_STAGES]


def first_with(path: list[Status], outcome: str) -> Status | None:
    return next((status for status in path if status.outcome == outcome), None)


def reopened(path: list[Status], history: list[Stage]) -> Status | None:
    """Return the status for a deal that is opened again: the last open one that it had, or else the first of the pipeline."""
    former = (stage.status for stage in history)
    is_open = (status for status in former if status in path and status and status.outcome == Status.Outcome.OPEN)
    return next(is_open, None) or first_with(path, Status.Outcome.OPEN)
