"""Reports in the Account API (JSON)."""

from django.http import HttpResponse
from rest_framework.response import Response

from accounts.hosts.api import APIRequest
from core.db.time_limit import TooSlow
from core.errors import FieldError, FieldErrors
from team.menu.api import TeamViewSet
from team.reports.queries import Report, ReportQuery

TOO_SLOW = "are too many months: the report takes too long. Choose a shorter period, a pipeline or a responsible user"
TOO_LARGE = "takes too long, because the account has too many suggestions with clients"


class ReportViewSet(TeamViewSet):
    """The view of a report. Each report has a route."""

    report: Report = None  # type: ignore[assignment]  # set by each route

    def retrieve(self, request: APIRequest) -> HttpResponse:
        """Return the rows of the report."""
        report = self.report
        errors = self.ignore_parameters(report.parameters)
        if errors:
            raise FieldErrors(errors.values())
        texts = {name: str(value) for name, value in self.parameters.items()}
        query = ReportQuery.read(report, texts, account=self.account, user=self.request.user)
        try:
            table = report.table(query)
        except TooSlow:
            error = ("from", TOO_SLOW) if report.has_period else ("report", TOO_LARGE)
            raise FieldError(*error, "too_slow") from None
        months = {"from": f"{query.period.first:%Y-%m}", "to": f"{query.period.last:%Y-%m}"}
        data: dict[str, object] = {
            "report": report.name,
            **(months if report.has_period else {}),
            "rows": table.as_objects(with_ids=report.has_ids),
        }
        return Response(data)
