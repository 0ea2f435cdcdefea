"""The stored values of clients, contacts and deals in the Account API (JSON)."""

from dataclasses import asdict
from typing import Any

from django.http import Http404, HttpResponse
from rest_framework.response import Response

from accounts.hosts.api import APIRequest
from core.api.serializers import format_time
from core.errors import FieldErrors
from core.openapi.operations import RESPONSES
from core.openapi.values import COUNT, NAME, NUMBER, TIME, array_of, object_of, or_null
from team.menu.api import TeamViewSet
from team.summaries.models import revenue_of, with_stored_values


class SummaryViewSet(TeamViewSet):
    # The resource of the route: "client", "contact" or "deal".
    resource = ""

    def retrieve(self, request: APIRequest, id: int) -> HttpResponse:
        if errors := self.ignore_parameters([]):
            raise FieldErrors(errors.values())
        rows = getattr(self.account, f"{self.resource}s").live().accessible_to(request.user).filter(id=id)
        row: Any = with_stored_values(rows, self.resource, self.account, request.user.access).first()
        if row is None:
            raise Http404
        times = ("last_activity_at", "next_task_at")
        data: dict[str, object] = {name: format_time(getattr(row, name), self.account.zone) for name in times}
        if self.resource == "client":
            data["revenue"] = [asdict(total) for total in revenue_of(row.revenue, self.account)]
        return Response(data)


# The OpenAPI document, as far as views and serializers do not tell it
REVENUE = array_of(object_of(currency=NAME, open_deals=COUNT, open_sum=NUMBER, won_deals=COUNT, won_sum=NUMBER))
SUMMARY = {"last_activity_at": TIME, "next_task_at": or_null(TIME)}
RESPONSES["read_client_summary"] = object_of(SUMMARY, revenue=REVENUE)
RESPONSES["read_contact_summary"] = RESPONSES["read_deal_summary"] = object_of(SUMMARY)
