"""The queries of the reports. Each returns the rows of a table, most for a period, from the rows that the user may access.

Amounts in different currencies are never added: each currency has rows of its own. A weighted amount is the amount multiplied by the
probability of the deal's status. A deal without a status is open (`Status.make_placeholder`); it is in no stage.

A report takes at most six statements. Their duration grows with the number of rows, and `REPORT_TIME_LIMIT_MS` limits it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Any, Protocol

from django.db.models import Aggregate, Count, Exists, F, FloatField, Model, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Coalesce, Extract, Now, Trunc
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.statuses.models import Status, status_name
from accounts.users.models import User
from core.api.routing import path_with_id
from core.errors import FieldError, FieldErrors
from core.rows.values import ValuesRow
from crm.deals.models import COLUMN_ID
from crm.deals.stage_history import ENTERED, HERE, LABELS, MOVED_ON, StageFilter, entered_stages, result_of
from team.backers.models import top_revenue
from team.lists.saved_views import VIEW_GONE, SavedView, find_view, open_view
from team.reports.periods import Period, Step, days_of
from team.reports.tables import ColumnKind, OtherTime, ReportCell, ReportColumn, ReportRow, list_path, make_row
from team.summaries.models import Revenue

DEALS, CLIENTS, SUGGESTION = "team-deals", "team-clients", "forum-post"
# The most rows of the report of suggestions in each currency.
MAX_SUGGESTIONS = 25


class Median(Aggregate):
    """The median of a number, by interpolation."""

    function = "percentile_cont"
    template = "%(function)s(0.5) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()


class ReportParameters(Protocol):
    """The attributes of a report (`team.reports.catalogue`) that say which parameters it has."""

    @property
    def name(self) -> str: ...
    @property
    def has_period(self) -> bool: ...
    @property
    def has_step(self) -> bool: ...
    @property
    def has_pipeline(self) -> bool: ...
    @property
    def ahead(self) -> bool: ...
    @property
    def id_parameters(self) -> list[str]: ...


@dataclass(frozen=True)
class ReportQuery:
    account: Account
    user: User
    period: Period
    pipeline_id: int | None = None
    responsible_id: int | None = None
    # The saved view of deals whose deals alone are counted.
    view: SavedView | None = None
    report_name: str = ""

    @property
    def is_filtered(self) -> bool:
        """True if only some of the deals of a user or of the team are counted."""
        return self.view is not None or self.pipeline_id is not None

    @classmethod
    def read(
        cls, report: ReportParameters, parameters: Mapping[str, str], *, account: Account, user: User
    ) -> "ReportQuery":
        """Return the query with the parameters of a URL: `from`, `to`, `pipeline_id` and `responsible_id`. Raise FieldErrors."""
        errors: list[FieldError] = []
        period: Period | None = None
        today = timezone.now().astimezone(account.zone).date()
        try:
            texts = (parameters.get(name, "").strip() if report.has_period else "" for name in ("from", "to"))
            period = Period.read(*texts, account=account, today=today, ahead=report.ahead)
        except FieldErrors as error:
            errors += error.errors
        ids: dict[str, int | None] = {}
        for name in report.id_parameters:
            text = parameters.get(name, "").strip()
            if text and not re.fullmatch(r"[0-9]{1,18}", text, re.ASCII):
                errors.append(FieldError(name, _("is not an id"), "number"))
            ids[name] = int(text) if text.isdecimal() else None
        step, view = parameters.get("step", "").strip() or Step.MONTH, None
        if report.has_step and step not in Step.values:
            errors.append(
                FieldError("step", _("is not one of {choices}"), "choice", {"choices": ", ".join(Step.values)})
            )
        if report.has_pipeline and (text := parameters.get("view", "").strip()):
            view = find_view(text, "deal", account=account, user=user)
            if view is None:
                errors.append(FieldError("view", VIEW_GONE, "missing"))
        if errors or period is None:
            raise FieldErrors(errors)
        return cls(
            account,
            user,
            replace(period, step=step) if report.has_step else period,
            **ids,
            view=view,
            report_name=report.name,
        )

    @cached_property
    def statuses(self) -> dict[int, Status]:
        """The statuses of deals, of the chosen pipeline if there is one, by id and in order. `Status.NONE_ID` is one of the ids."""
        statuses = self.account.deal_statuses()
        return {status.id: status for status in statuses if self.pipeline_id in (None, status.pipeline_id)}

    def status_ids(self, *outcomes: str) -> list[int]:
        return [status.id for status in self.statuses.values() if status.outcome in outcomes]

    def deals(self, *outcomes: str) -> QuerySet[Model]:
        """Return the deals with one of the outcomes, with the key of `statuses` as `column_id`."""
        deals = self.account.deals.live().in_statuses(self.status_ids(*outcomes))
        if self.view is not None:
            deals = deals.filter(id__in=open_view(self.view, self.user).rows.order_by().values("id"))
        return self.responsible(deals.annotate(column_id=COLUMN_ID))

    def responsible(self, rows: QuerySet[Model]) -> QuerySet[Model]:
        """Return the rows that the user may access, of the chosen responsible user if there is one."""
        rows = rows.accessible_to(self.user)  # type: ignore[attr-defined]  # of every AccessQuerySet
        return rows if self.responsible_id is None else rows.filter(responsible_id=self.responsible_id)

    def deals_path(self, **filters: object) -> str:
        """Return the path of the list of deals with filters, or "" for a view, which a list does not combine with others."""
        if self.view is not None:
            return ""
        chosen = {"pipeline_id": self.pipeline_id, "responsible_id": self.responsible_id}
        return list_path(DEALS, **chosen | filters)


class Sums:
    """A number of deals, the sum of their amounts, and the sum weighted by probability."""

    def __init__(self) -> None:
        self.deals, self.total, self.weighted = 0, Decimal(0), Decimal(0)

    def add(self, deals: int, total: Decimal | None, probability: int = 0) -> None:
        self.deals += deals
        self.total += total or 0
        self.weighted += (total or Decimal(0)) * probability / 100


def sums_by(rows: QuerySet[Model], *columns: str) -> Iterable[tuple[Any, ...]]:
    """Return the values of the columns with the number of deals that have them and the sum of their amounts, in one statement."""
    groups = rows.order_by().values(*columns).annotate(deals=Count("id"), total=Sum("price"))
    result: Iterable[tuple[Any, ...]] = groups.values_list(*columns, "deals", "total")
    return result


def share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


# Open deals by the month in which they are expected to close

FORECAST = (
    ReportColumn("month", _("Expected close"), ColumnKind.MONTH),
    ReportColumn("currency", _("Currency"), ColumnKind.TEXT),
    ReportColumn("deals", _("Deals"), ColumnKind.COUNT),
    ReportColumn("total", _("Amount"), ColumnKind.MONEY),
    ReportColumn("weighted", _("Weighted"), ColumnKind.MONEY, is_estimate=True),
)


def forecast(query: ReportQuery) -> list[ReportRow]:
    """Return the open deals by the month of their expected close, with rows for earlier and later months and for deals without a date."""
    period, sums = query.period, defaultdict[tuple[str | date, str], Sums](Sums)
    rows = query.deals(Status.Outcome.OPEN).annotate(month=Trunc("expected_close_date", query.period.step))
    for month, column_id, currency, deals, total in sums_by(rows, "month", "column_id", "currency"):
        row_label = OtherTime.NO_DATE if month is None else month
        if month is not None and not period.first_of_step(period.first) <= month < period.end:
            row_label = OtherTime.EARLIER if month < period.first else OtherTime.LATER
        sums[row_label, currency].add(deals, total, query.statuses[column_id].probability or 0)
    row_labels = [OtherTime.EARLIER, *period, OtherTime.LATER, OtherTime.NO_DATE]
    currencies = sorted({currency for _row_label, currency in sums} | {query.account.currency})
    return [
        forecast_row(query, row_label, currency, sums[row_label, currency])
        for currency in currencies
        for row_label in row_labels
        if isinstance(row_label, date) or (row_label, currency) in sums
    ]


def forecast_row(query: ReportQuery, row_label: str | date, currency: str, sums: Sums) -> ReportRow:
    after, before = None, None
    if isinstance(row_label, date):
        after, before = query.period.days_of(row_label)
    elif row_label == OtherTime.EARLIER:
        before = query.period.first.isoformat()
    elif row_label == OtherTime.LATER:
        after, _end = days_of(query.period.end)
    path = query.deals_path(
        outcome=Status.Outcome.OPEN,
        currency=currency,
        expected_close_date__after=after,
        expected_close_date__before=before,
        expected_close_date__empty="true" if row_label == OtherTime.NO_DATE else None,
    )
    figures = [ReportCell(value, path if sums.deals else "") for value in (sums.deals, sums.total, sums.weighted)]
    return make_row(row_label, currency, *figures)


# Won and lost deals by the month in which they were closed

RESULTS_BY_MONTH = (
    ReportColumn("month", _("Month"), ColumnKind.MONTH),
    ReportColumn("currency", _("Currency"), ColumnKind.TEXT),
    ReportColumn("won", _("Won"), ColumnKind.COUNT),
    ReportColumn("won_total", _("Amount won"), ColumnKind.MONEY),
    ReportColumn("lost", _("Lost"), ColumnKind.COUNT),
    ReportColumn("lost_total", _("Amount lost"), ColumnKind.MONEY),
    ReportColumn("win_rate", _("Win rate"), ColumnKind.SHARE),
)


def results(query: ReportQuery) -> list[ReportRow]:
    """Return the won and the lost deals by the month in which they were closed."""
    sums = defaultdict[tuple[date, str, str], Sums](Sums)
    begin, end = query.period.times
    rows = query.deals(Status.Outcome.WON, Status.Outcome.LOST).filter(closed_at__gte=begin, closed_at__lt=end)
    rows = rows.annotate(month=Trunc("closed_at", query.period.step, tzinfo=query.period.zone))
    for month, column_id, currency, deals, total in sums_by(rows, "month", "column_id", "currency"):
        sums[month.date(), currency, str(query.statuses[column_id].outcome)].add(deals, total)
    currencies = sorted({currency for _month, currency, _outcome in sums} | {query.account.currency})
    return [results_row(query, month, currency, sums) for currency in currencies for month in query.period]


def results_row(query: ReportQuery, month: date, currency: str, sums: dict[tuple[date, str, str], Sums]) -> ReportRow:
    after, before = query.period.days_of(month)
    cells = []
    won, lost = (sums[month, currency, outcome] for outcome in (Status.Outcome.WON, Status.Outcome.LOST))
    for outcome, found in ((Status.Outcome.WON, won), (Status.Outcome.LOST, lost)):
        filters = {"outcome": outcome, "currency": currency, "closed_at__after": after, "closed_at__before": before}
        path = query.deals_path(**filters) if found.deals else ""
        cells += [ReportCell(found.deals, path), ReportCell(found.total, path)]
    return make_row(month, currency, *cells, share(won.deals, won.deals + lost.deals))


# Deals by the responsible user

PEOPLE = (
    ReportColumn("name", _("Responsible"), ColumnKind.TEXT),
    ReportColumn("currency", _("Currency"), ColumnKind.TEXT),
    ReportColumn("open", _("Open deals"), ColumnKind.COUNT),
    ReportColumn("open_total", _("Open amount"), ColumnKind.MONEY),
    ReportColumn("weighted", _("Weighted"), ColumnKind.MONEY, is_estimate=True),
    ReportColumn("won", _("Won"), ColumnKind.COUNT),
    ReportColumn("won_total", _("Amount won"), ColumnKind.MONEY),
    ReportColumn("lost", _("Lost"), ColumnKind.COUNT),
    ReportColumn("win_rate", _("Win rate"), ColumnKind.SHARE),
)


def people(query: ReportQuery) -> list[ReportRow]:
    """Return the open deals, and those that were closed in the period, by the user who is responsible for them."""
    sums = defaultdict[tuple[int | None, str, str], Sums](Sums)
    begin, end = query.period.times
    closed = Q(closed_at__gte=begin, closed_at__lt=end)
    columns = ("responsible_id", "column_id", "currency")
    open_sums = sums_by(query.deals(Status.Outcome.OPEN), *columns)
    closed_sums = sums_by(query.deals(Status.Outcome.WON, Status.Outcome.LOST).filter(closed), *columns)
    for responsible_id, column_id, currency, deals, total in (*open_sums, *closed_sums):
        status = query.statuses[column_id]
        sums[responsible_id, currency, str(status.outcome)].add(deals, total, status.probability or 0)
    ids = {id for id, _currency, _outcome in sums if id is not None}
    users = query.account.users.filter(id__in=ids).values_list("id", "name", "login")
    names = {id: name or login for id, name, login in users}
    groups = {(id, currency) for id, currency, _outcome in sums}
    order = sorted(
        groups, key=lambda group: (group[1], -sums[*group, Status.Outcome.WON].total, names.get(group[0] or 0, ""))
    )
    return [person_row(query, id, names.get(id or 0), currency, sums) for id, currency in order]


def person_row(
    query: ReportQuery, id: int | None, name: str | None, currency: str, sums: dict[tuple[int | None, str, str], Sums]
) -> ReportRow:
    whose: dict[str, object] = {"responsible_id__empty": "true"} if id is None else {"responsible_id": id}
    after, before = days_of(query.period.first)[0], days_of(query.period.last)[1]
    closed = {"closed_at__after": after, "closed_at__before": before}

    def path(outcome: str) -> str:
        if not sums[id, currency, outcome].deals:
            return ""
        filters = whose | ({} if outcome == Status.Outcome.OPEN else closed)
        return query.deals_path(outcome=outcome, currency=currency, **filters)

    outcomes = (Status.Outcome.OPEN, Status.Outcome.WON, Status.Outcome.LOST)
    opened, won, lost = (sums[id, currency, outcome] for outcome in outcomes)
    open_path, won_path, lost_path = map(path, outcomes)
    return make_row(
        name,
        currency,
        *(ReportCell(value, open_path) for value in (opened.deals, opened.total, opened.weighted)),
        *(ReportCell(value, won_path) for value in (won.deals, won.total)),
        ReportCell(lost.deals, lost_path),
        share(won.deals, won.deals + lost.deals),
        id=id,
    )


# Stages

STAGES = (
    ReportColumn("name", _("Stage"), ColumnKind.TEXT),
    *(ReportColumn(name, label, ColumnKind.COUNT) for name, label in LABELS.items()),
    ReportColumn("conversion", _("Conversion"), ColumnKind.SHARE),
    ReportColumn("median_days", _("Median days"), ColumnKind.DAYS),
)


def stages(query: ReportQuery) -> list[ReportRow]:
    """Return how the deals that entered each stage in the period went on, and the median of the days that they stayed or have stayed."""
    order = list(query.account.statuses_of_kind(Status.Kind.DEAL))
    opened = [status for status in order if status.outcome == Status.Outcome.OPEN]
    shown = {status.id: status for status in opened if query.pipeline_id in (None, status.pipeline_id)}
    deals = query.responsible(query.account.deals.live()).filter(id=OuterRef("deal_id"))
    entered = entered_stages(query.account, *query.period.times).filter(Exists(deals), status_id__in=shown).order_by()
    counts = defaultdict[tuple[int, str], int](int)
    groups = entered.values("status_id", "next_status_id", is_here=Q(left_at=None)).annotate(stages=Count("number"))
    for status_id, next_id, is_here, number in groups.values_list("status_id", "next_status_id", "is_here", "stages"):
        counts[status_id, ENTERED] += number
        counts[status_id, HERE if is_here else result_of(status_id, next_id, order)] += number
    seconds = Extract(Coalesce("left_at", Now()) - F("entered_at"), "epoch")
    medians = dict(entered.values("status_id").annotate(median=Median(seconds)).values_list("status_id", "median"))
    return [stage_row(query, status, counts, medians.get(id)) for id, status in shown.items()]


def stage_row(
    query: ReportQuery, status: Status, counts: dict[tuple[int, str], int], median: float | None
) -> ReportRow:
    cells = []
    for result in LABELS:
        number = counts[status.id, result]
        filtered = StageFilter(status.id, result, query.period.first, query.period.end)
        path = list_path(DEALS, stage_history=filtered, responsible_id=query.responsible_id) if number else ""
        cells.append(ReportCell(number, path))
    conversion = share(counts[status.id, MOVED_ON], counts[status.id, ENTERED])
    days = None if median is None else round(median / 86_400, 1)
    return make_row(status_name(status), *cells, conversion, days, id=status.id)


# Rows by the month in which they were created


def group_by_month(query: ReportQuery, rows: QuerySet[Model], **figures: Aggregate) -> Iterator[tuple[date, ValuesRow]]:
    """Return each month of the period with the figures of the rows that were created in it, in one statement.

    A month without rows has the figures of an empty table: 0 for a number, None for a median.
    """
    begin, end = query.period.times
    rows = rows.filter(created_at__gte=begin, created_at__lt=end).order_by()
    groups = (
        rows.annotate(month=Trunc("created_at", query.period.step, tzinfo=query.period.zone))
        .values("month")
        .annotate(**figures)
    )
    found = {group.pop("month").date(): group for group in groups}
    nothing = {name: figure.empty_result_set_value for name, figure in figures.items()}
    for month in query.period:
        yield month, found.get(month, nothing)


NEW_CLIENTS = (
    ReportColumn("month", _("Month"), ColumnKind.MONTH),
    ReportColumn("clients", _("New clients"), ColumnKind.COUNT),
    ReportColumn("customers", _("With a won deal"), ColumnKind.COUNT),
)


def new_clients(query: ReportQuery) -> list[ReportRow]:
    """Return the clients by the month in which they were created, and how many of them have a won deal."""
    rows = query.responsible(query.account.clients.live())
    won = query.deals(Status.Outcome.WON).filter(client_id=OuterRef("id"))
    figures = {"clients": Count("id"), "customers": Count("id", filter=Exists(won))}
    table = []
    for month, found in group_by_month(query, rows, **figures):
        after, before = query.period.days_of(month)
        filters = {"created_at__after": after, "created_at__before": before, "responsible_id": query.responsible_id}
        path = list_path(CLIENTS, **filters) if found["clients"] else ""
        table.append(make_row(month, ReportCell(found["clients"], path), found["customers"]))
    return table


# The time until the team answers suggestions

ANSWERS = (
    ReportColumn("month", _("Month"), ColumnKind.MONTH),
    ReportColumn("suggestions", _("Suggestions"), ColumnKind.COUNT),
    ReportColumn("answered", _("Answered"), ColumnKind.COUNT),
    ReportColumn("part", _("Share answered"), ColumnKind.SHARE),
    ReportColumn("median_hours", _("Median hours to the answer"), ColumnKind.HOURS),
)


def answers(query: ReportQuery) -> list[ReportRow]:
    """Return the suggestions by the month in which they were written, and the time until the team first answered them in public."""
    rows = query.account.posts.listed_for(query.user)
    seconds = Extract(F("answered_at") - F("created_at"), "epoch")
    figures = {"suggestions": Count("id"), "answered": Count("answered_at"), "median": Median(seconds)}
    table = []
    for month, found in group_by_month(query, rows, **figures):
        number, answered, median = (found[name] for name in figures)
        hours = None if median is None else round(median / 3600, 1)
        table.append(make_row(month, number, answered, share(answered, number), hours))
    return table


# The suggestions with the highest revenue of the clients behind them

SUGGESTIONS = (
    ReportColumn("title", _("Suggestion"), ColumnKind.TEXT),
    ReportColumn("currency", _("Currency"), ColumnKind.TEXT),
    ReportColumn("clients", _("Clients"), ColumnKind.COUNT),
    ReportColumn("open", _("Open deals"), ColumnKind.COUNT),
    ReportColumn("open_total", _("Open amount"), ColumnKind.MONEY),
    ReportColumn("won", _("Won"), ColumnKind.COUNT),
    ReportColumn("won_total", _("Amount won"), ColumnKind.MONEY),
)


def suggestions(query: ReportQuery) -> list[ReportRow]:
    """Return the suggestions whose clients have the highest sums of open and won deals in each currency."""
    found = top_revenue(query.account, query.user, MAX_SUGGESTIONS)
    posts = query.account.posts.listed_for(query.user).filter(id__in={id for id, *_ in found})
    titles = dict(posts.values_list("id", "title")) if found else {}
    # Suggestions that were merged or deleted in the last minute are still stored.
    return [suggestion_row(id, titles[id], clients, revenue) for id, clients, revenue in found if id in titles]


def suggestion_row(id: int, title: str, clients: int, revenue: Revenue) -> ReportRow:
    def path(outcome: str, deals: int) -> str:
        return list_path(DEALS, post_id=id, outcome=outcome, currency=revenue.currency) if deals else ""

    open_path, won_path = path(Status.Outcome.OPEN, revenue.open_deals), path(Status.Outcome.WON, revenue.won_deals)
    return make_row(
        ReportCell(title, path_with_id(SUGGESTION, id)),
        revenue.currency,
        ReportCell(clients, list_path(CLIENTS, post_id=id)),
        *(ReportCell(value, open_path) for value in (revenue.open_deals, revenue.open_sum)),
        *(ReportCell(value, won_path) for value in (revenue.won_deals, revenue.won_sum)),
        id=id,
    )
