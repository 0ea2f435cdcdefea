"""The reports: their names, columns and parameters, and those that a user has chosen for the dashboard."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.users.models import User
from accounts.users.preferences import set_preference
from core.db.time_limit import time_limit
from core.errors import FieldError
from crm.deals.stage_history import ENTERED, MOVED_ON
from team.reports.activities import ACTIVITIES, REASONS, activities, reasons
from team.reports.queries import (
    ANSWERS,
    FORECAST,
    NEW_CLIENTS,
    PEOPLE,
    RESULTS_BY_MONTH,
    STAGES,
    SUGGESTIONS,
    ReportQuery,
    answers,
    forecast,
    new_clients,
    people,
    results,
    stages,
    suggestions,
)
from team.reports.tables import ReportColumn, ReportRow, Table

# The milliseconds that a statement of a report may take.
REPORT_TIME_LIMIT_MS = 5000


@dataclass(frozen=True)
class Report:
    name: str
    label: str | Promise
    description: str | Promise
    columns: Sequence[ReportColumn]
    # The names of the columns that the chart draws.
    series: Sequence[str]
    build: Callable[[ReportQuery], list[ReportRow]]
    # True if the rows are those of statuses, users or suggestions. A row in JSON has their id.
    has_ids: bool = False
    # True if the period is by default the next 12 months, not the last 12.
    ahead: bool = False
    has_period: bool = True
    has_pipeline: bool = False
    has_responsible: bool = True
    # True if the rows are steps of the period: weeks, months or quarters.
    has_step: bool = False
    has_totals: bool = True

    @property
    def parameters(self) -> list[str]:
        further = {"step": self.has_step, "view": self.has_pipeline}
        names = [name for name, has in further.items() if has]
        return [*(("from", "to") if self.has_period else ()), *names, *self.id_parameters]

    @property
    def id_parameters(self) -> list[str]:
        names = {"pipeline_id": self.has_pipeline, "responsible_id": self.has_responsible}
        return [name for name, has in names.items() if has]

    def table(self, query: ReportQuery) -> Table:
        """Return the table. Raise `TooSlow` if a statement takes longer than `REPORT_TIME_LIMIT_MS`."""
        with time_limit(REPORT_TIME_LIMIT_MS):
            return Table(self.columns, self.build(query), self.series, query.period.step, has_totals=self.has_totals)


REPORTS = {
    report.name: report
    for report in (
        Report(
            "forecast",
            _("Forecast"),
            _("Open deals by the month in which they are expected to close."),
            FORECAST,
            ("total", "weighted"),
            forecast,
            ahead=True,
            has_step=True,
            has_pipeline=True,
        ),
        Report(
            "results",
            _("Won and lost"),
            _("Deals by the month in which they were won or lost."),
            RESULTS_BY_MONTH,
            ("won_total", "lost_total"),
            results,
            has_step=True,
            has_pipeline=True,
        ),
        Report(
            "stages",
            pgettext_lazy("of deals", "Stages"),
            _("How the deals that entered a stage in this period went on, and how long they stayed."),
            STAGES,
            (ENTERED, MOVED_ON),
            stages,
            has_ids=True,
            has_totals=False,
            has_pipeline=True,
        ),
        Report(
            "people",
            _("People"),
            _("Open deals of each person, and the deals that were won or lost in this period."),
            PEOPLE,
            ("won_total", "weighted"),
            people,
            has_ids=True,
            has_pipeline=True,
        ),
        Report(
            "reasons",
            _("Reasons"),
            _("Why deals were won or lost in this period."),
            REASONS,
            ("deals",),
            reasons,
            has_pipeline=True,
        ),
        Report(
            "activities",
            _("Activities"),
            _(
                "What each person wrote down in this period: calls, e-mails, meetings and notes, and the tasks that they did."
            ),
            ACTIVITIES,
            ("calls", "emails", "meetings", "tasks"),
            activities,
            has_ids=True,
        ),
        Report(
            "clients",
            _("New clients"),
            _("Clients by the month in which they were added."),
            NEW_CLIENTS,
            ("clients", "customers"),
            new_clients,
            has_step=True,
        ),
        Report(
            "answers",
            _("Response time"),
            _("Suggestions by the month in which they were written, and the time until the team answered in public."),
            ANSWERS,
            ("suggestions", "answered"),
            answers,
            has_step=True,
            has_responsible=False,
        ),
        Report(
            "suggestions",
            _("Top suggestions"),
            _(
                "The suggestions whose clients have the highest sums of open and won deals. Changes appear here after about a minute."
            ),
            SUGGESTIONS,
            ("open_total", "won_total"),
            suggestions,
            has_ids=True,
            has_totals=False,
            has_period=False,
            has_responsible=False,
        ),
    )
}

# The key of the preference with the names of the reports on the dashboard of a user, and those of a user who has chosen none.
PREFERENCE, DEFAULT_REPORTS = "reports", ["results", "forecast", "activities", "reasons"]


def chosen_reports(user: User) -> list[str]:
    """Return the names of the reports on the dashboard of the user."""
    return [name for name in user.preferences.get(PREFERENCE, DEFAULT_REPORTS) if name in REPORTS]


def choose_reports(user: User, names: Collection[str]) -> None:
    """Store the reports of the dashboard, in the order of the catalogue. Raise FieldError if one is unknown."""
    if unknown := sorted(set(names) - REPORTS.keys()):
        raise FieldError("reports", _("has {name}, which is not a report"), "choice", {"name": unknown[0][:100]})
    set_preference(user, PREFERENCE, [name for name in REPORTS if name in names])
