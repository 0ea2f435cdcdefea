"""Reports in the Account API (JSON)."""

from django.http import HttpResponse
from rest_framework.response import Response

from accounts.hosts.api import APIRequest
from core.api.fields import ListField, to_list
from core.api.serializers import ResourceSerializer
from core.db.time_limit import TooSlow
from core.db.transactions import in_transaction
from core.errors import FieldError, FieldErrors
from core.openapi.fields import describe_field
from core.openapi.operations import BODIES, QUERY_PARAMETERS, RESPONSES, entries
from core.openapi.values import (
    COUNT,
    DATE,
    ID,
    ID_OR_ZERO,
    NAME,
    NUMBER,
    JSONSchema,
    array_of,
    object_of,
    one_of,
    or_null,
)
from team.menu.api import TeamViewSet
from team.reports.catalogue import REPORTS, Report, choose_reports, chosen_reports
from team.reports.periods import DEFAULT_MONTHS, MAX_MONTHS, Step
from team.reports.queries import MAX_SUGGESTIONS, ReportQuery
from team.reports.tables import ColumnKind, OtherTime, Table

TOO_SLOW = "are too many months: the report takes too long. Choose a shorter period, a pipeline or a responsible user"
TOO_LARGE = "takes too long, because the account has too many suggestions with clients"


class ReportViewSet(TeamViewSet):
    """The view of a report. Each report has a route."""

    report: Report = None  # type: ignore[assignment]  # set by each route

    def retrieve(self, request: APIRequest) -> HttpResponse:
        report = self.report
        if errors := self.ignore_parameters(report.parameters):
            raise FieldErrors(errors.values())
        texts = {name: str(value) for name, value in self.parameters.items()}
        query = ReportQuery.read(report, texts, account=self.account, user=self.request.user)
        try:
            table = report.table(query)
        except TooSlow:
            error = ("from", TOO_SLOW) if report.has_period else ("report", TOO_LARGE)
            raise FieldError(*error, "too_slow") from None
        months = {"from": f"{query.period.first:%Y-%m}", "to": f"{query.period.last:%Y-%m}"}
        rows = table.as_objects(with_ids=report.has_ids)
        step = {"step": query.period.step} if report.has_step else {}
        totals = {"totals": self.represent_totals(table)} if report.has_totals else {}
        return Response(
            {"report": report.name, **(months if report.has_period else {}), **step, "rows": rows, **totals}
        )

    def represent_totals(self, table: Table) -> dict[str, object]:
        """Return the sums of the columns per currency, and those of amounts in the currency of the account."""
        by_currency = []
        for currency in table.currencies if table.currency_position is not None else [""]:
            rows = [row for row in table.rows if table.currency_of(row) == currency]
            sums = zip(table.columns, table.totals_of(rows), strict=True)
            own = {"currency": currency} if currency else {}
            by_currency.append(own | {column.name: total for column, total in sums if total is not None})
        converted = {name: round(found.sum, 2) for name, found in table.converted(self.account).items()}
        return {"by_currency": by_currency, "converted": converted, "currency": self.account.currency}


class ReportsField(ListField):
    """The names of reports, which `choose_reports` checks."""

    default_error_messages = {"list": "must be a list of reports"}

    def to_internal_value(self, data: object) -> object:
        names = to_list(data)
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            self.fail("list")
        return names


class DashboardSerializer(ResourceSerializer):
    reports = ReportsField()


class DashboardViewSet(TeamViewSet):
    """The reports on the dashboard of the user."""

    body_keys: tuple[str, ...] = ("dashboard",)

    def retrieve(self, request: APIRequest) -> HttpResponse:
        if errors := self.ignore_parameters([]):
            raise FieldErrors(errors.values())
        return Response({"reports": chosen_reports(request.user)})

    def update(self, request: APIRequest) -> HttpResponse:
        serializer = DashboardSerializer(
            data=self.body.get("dashboard"), partial=True, context=self.get_serializer_context()
        )
        self.check(dashboard=serializer)
        if (names := serializer.values.get("reports")) is not None:
            in_transaction(lambda: choose_reports(request.user, names))
        return Response({"reports": chosen_reports(request.user)})


# The OpenAPI document, as far as views and serializers do not tell it
MONTH: JSONSchema = {"type": "string", "pattern": "^2[01][0-9]{2}-(0[1-9]|1[0-2])$"}
# A period may begin before the year 2000, if only its end is given.
SHOWN_MONTH: JSONSchema = {"type": "string", "pattern": "^[12][0-9]{3}-(0[1-9]|1[0-2])$"}
QUARTER: JSONSchema = {"type": "string", "pattern": "^[12][0-9]{3}-Q[1-4]$"}
SUMMED = (ColumnKind.COUNT, ColumnKind.MONEY)
DURATION = {"type": ["number", "null"], "minimum": 0}
# The schema and an example of a column of each kind.
COLUMNS = {
    ColumnKind.TEXT: (or_null(NAME), "EUR"),
    ColumnKind.MONTH: ({"anyOf": [SHOWN_MONTH, QUARTER, DATE, one_of(OtherTime.values)]}, "2026-11"),
    ColumnKind.COUNT: (COUNT, 2),
    ColumnKind.MONEY: (NUMBER, 149.9),
    ColumnKind.SHARE: ({**DURATION, "maximum": 1}, 0.25),
    ColumnKind.DAYS: (DURATION, 3.5),
    ColumnKind.HOURS: (DURATION, 3.5),
}


def description_of(report: Report) -> str:
    amounts = any(column.kind == ColumnKind.MONEY for column in report.columns)
    currencies = " Each currency has rows of its own." if amounts else ""
    if not report.has_period:
        return f"{report.description} There are at most {MAX_SUGGESTIONS} for each currency.{currencies}"
    months = f"the next {DEFAULT_MONTHS} months" if report.ahead else f"the last {DEFAULT_MONTHS} months"
    return f"{report.description} The period is {months} by default, and at most {MAX_MONTHS} months.{currencies}"


NAMES = array_of(one_of(list(REPORTS)))
describe_field(ReportsField, request=NAMES, response=NAMES)
RESPONSES["read_dashboard"] = RESPONSES["update_dashboard"] = object_of(reports=NAMES)
BODIES["update_dashboard"] = {"dashboard": DashboardSerializer}

# The declarations of the reports have their texts, so no file describes these operations.
for report in REPORTS.values():
    key = f"get_{report.name}_report"
    schemas = {column.name: COLUMNS[column.kind][0] for column in report.columns}
    example = {column.name: COLUMNS[column.kind][1] for column in report.columns}
    if report.has_ids:
        schemas["id"], example["id"] = or_null(ID), 16
    names = ("from", "to") if report.has_period else ()
    entries()[f"GET /app/reports/{report.name}.json"] = {
        "id": key,
        "summary": f"Read the report “{report.label}”",
        "description": description_of(report),
        "tag": "Reports",
        "response": {"report": report.name, **dict.fromkeys(names, "2026-11"), "rows": [example]},
    }
    schema_of = dict.fromkeys(("from", "to"), MONTH) | {"step": one_of(Step.values)}
    QUERY_PARAMETERS[key] = {name: schema_of.get(name, ID_OR_ZERO) for name in report.parameters}
    if report.has_step:
        names = (*names, "step")
    fixed = {
        "report": {"type": "string", "const": report.name},
        **{name: SHOWN_MONTH if name in ("from", "to") else schema_of[name] for name in names},
    }
    sums = {column.name: COLUMNS[column.kind][0] for column in report.columns if column.kind in SUMMED}
    amounts = {column.name: NUMBER for column in report.columns if column.kind == ColumnKind.MONEY}
    of_currency = {"currency": NAME} if amounts else {}
    totals = object_of(by_currency=array_of(object_of(of_currency | sums)), converted=object_of(amounts), currency=NAME)
    RESPONSES[key] = object_of(
        {**fixed, "rows": array_of(object_of(schemas)), **({"totals": totals} if report.has_totals else {})}
    )
    if report.has_step:
        entries()[f"GET /app/reports/{report.name}.json"]["response"]["step"] = "month"
    if report.has_totals:
        found = {column.name: COLUMNS[column.kind][1] for column in report.columns if column.name in sums}
        entries()[f"GET /app/reports/{report.name}.json"]["response"]["totals"] = {
            "by_currency": [({"currency": "EUR"} if amounts else {}) | found],
            "converted": {name: found[name] for name in amounts},
            "currency": "EUR",
        }
