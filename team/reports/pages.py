"""The pages of reports: a chart and a table for each report. The table can be downloaded as CSV."""

import csv
from dataclasses import replace
from decimal import Decimal
from typing import Any

from django.http import Http404, HttpResponse
from django.utils.translation import gettext_lazy as _

from accounts.audit.models import record
from accounts.statuses.models import pipeline_name
from core.db.time_limit import TooSlow
from core.errors import FieldError, FieldErrors
from core.http.spreadsheets import guard
from core.pages.base import redirect
from core.pages.errors import error_sentence
from core.pages.formatting import amount_text, number_text
from team.exports.formats import CSVFormat
from team.fields.names import people_of
from team.goals.models import Goal
from team.menu.pages import TeamPage, TeamRequest
from team.reports.catalogue import REPORTS, Report, choose_reports, chosen_reports
from team.reports.periods import DEFAULT_MONTHS, Step
from team.reports.queries import ReportQuery
from team.reports.tables import ColumnKind, ReportColumn, Table, chart_of, text_of

# The heading of the rows of a report by the parts of a period.
STEP_HEADINGS = {Step.WEEK: _("Week"), Step.MONTH: _("Month"), Step.QUARTER: _("Quarter")}


def heading_of(column: ReportColumn, step: str) -> ReportColumn:
    """Return the column with the name of the step as the heading of months."""
    return replace(column, label=STEP_HEADINGS[Step(step)]) if column.kind == ColumnKind.MONTH else column


class DashboardPage(TeamPage):
    """The reports that the user has chosen. htmx loads each of them as a tile; without JavaScript they are links."""

    section = "reports"
    template_name = "team/reports/dashboard.html"

    def get(self, request: TeamRequest) -> HttpResponse:
        names = chosen_reports(request.user)
        return self.render(tiles=[REPORTS[name] for name in names], names=names, reports=REPORTS.values())

    def post(self, request: TeamRequest) -> HttpResponse:
        self.perform(lambda: choose_reports(request.user, request.POST.getlist("report")))
        return redirect("team-reports")


class ReportPage(TeamPage):
    """A report for a period, with the amounts of one currency. htmx loads it as a tile of the dashboard."""

    section = "reports"
    template_name = "team/reports/report.html"

    def get(self, request: TeamRequest, name: str) -> HttpResponse:
        report = REPORTS.get(name)
        if report is None:
            raise Http404
        errors: list[FieldError] = []
        parameters = request.GET.dict()
        try:
            query = ReportQuery.read(report, parameters, account=request.account, user=request.user)
        except FieldErrors as caught:
            errors = caught.errors
            # The report has the default values of the parameters with errors.
            valid = {name: value for name, value in parameters.items() if name not in {error.field for error in errors}}
            query = ReportQuery.read(report, valid, account=request.account, user=request.user)
        try:
            table = report.table(query)
        except TooSlow:
            table = None
        if table is not None and request.GET.get("format") == "csv":
            record(request.account.id, "export.started", report=report.name)
            return csv_response(report, table)
        if self.fills(f"tile-{report.name}"):
            return self.render(
                "team/reports/tile.html", report=report, **({} if table is None else self.parts(table, query))
            )
        return self.render(
            http_status=422 if errors else 200,
            report=report,
            reports=REPORTS.values(),
            query=query,
            is_too_slow=table is None,
            errors=[error_sentence(error) for error in errors],
            default_months=DEFAULT_MONTHS,
            pipelines=self.pipelines(report),
            steps=Step.choices if report.has_step else [],
            views=self.views(report),
            people=people_of(self.request.account) if report.has_responsible else [],
            **({} if table is None else self.parts(table, query)),
        )

    def parts(self, table: Table, query: ReportQuery) -> dict[str, Any]:
        """Return what the page shows of a table: the rows of the chosen currency."""
        currencies, own = table.currencies, self.request.account.currency
        chosen = self.request.GET.get("currency", "")
        if chosen not in currencies:
            chosen = own if own in currencies else next(iter(currencies), "")
        rows = [row for row in table.rows if table.currency_of(row) == chosen]
        converted = table.converted(self.request.account) if table.has_totals and len(currencies) > 1 else {}
        shown = [position for position in range(len(table.columns)) if position != table.currency_position]
        totals = table.totals_of(rows) if table.has_totals and len(rows) > 1 else []
        return {
            "currency": chosen,
            "currencies": currencies,
            "chart": chart_of(table, rows, self.goal_of(query, chosen)),
            "totals": [
                "" if total is None else text_of(total, table.columns[position], chosen)
                for position, total in enumerate(totals)
                if position in shown
            ],
            "converted": [
                (column.label, amount_text(found.sum, own, is_rounded=True), ", ".join(found.missing))
                for column in table.columns
                if (found := converted.get(column.name)) is not None
            ],
            "columns": [heading_of(table.columns[position], table.step) for position in shown],
            "rows": [
                [(table.columns[position], row.cells[position], table.text(row, position)) for position in shown]
                for row in rows
            ],
        }

    def goal_of(self, query: ReportQuery, currency: str) -> Decimal | None:
        """Return the goal for the amount of each month or quarter, of the chosen user or else of the team."""
        account = self.request.account
        if query.report_name != "results" or query.is_filtered or currency != account.currency:
            return None
        goals = account.goals.filter(
            measure=Goal.Measure.AMOUNT, period=query.period.step, user_id=query.responsible_id
        )
        target = goals.values_list("target", flat=True).first()
        return None if target is None else Decimal(target)

    def views(self, report: Report) -> list[tuple[int, str]]:
        """Return the saved views of deals that the user sees."""
        rows = (
            self.request.account.saved_views.visible_to(self.request.user).in_order() if report.has_pipeline else None
        )
        return [] if rows is None else list(rows.filter(resource="deal").values_list("id", "name"))

    def pipelines(self, report: Report) -> list[tuple[int, str]]:
        """Return the choices of a pipeline. There is nothing to choose if the account has only one."""
        rows = self.request.account.pipelines.order_by("position", "id") if report.has_pipeline else ()
        pipelines = [(pipeline.id, pipeline_name(pipeline)) for pipeline in rows]
        return pipelines if len(pipelines) > 1 else []


def csv_response(report: Report, table: Table) -> HttpResponse:
    """Return all rows of a table as CSV. The names of the columns, and months, are those of the JSON API."""
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{report.name}.csv"'
    writer = csv.writer(response, delimiter=CSVFormat().delimiter)
    writer.writerow([column.name for column in table.columns])
    for row, values in zip(table.rows, table.as_objects(), strict=True):
        currency = table.currency_of(row)
        writer.writerow([csv_value(values[column.name], column, currency) for column in table.columns])
    return response


def csv_value(value: Any, column: ReportColumn, currency: str) -> str:
    if isinstance(value, str) or value is None:
        return guard(value or "")
    if column.kind == ColumnKind.MONEY:
        return amount_text(value, currency, is_rounded=column.is_estimate, is_grouped=False)
    return number_text(value, is_grouped=False)
