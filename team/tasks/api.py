"""The private address of the user's calendar of tasks in the Account API (JSON)."""

from django.http import HttpResponse
from django.urls import reverse
from rest_framework.response import Response

from accounts.account.api import url_of_account
from accounts.hosts.api import APIRequest
from core.api.serializers import format_time
from core.db.transactions import in_transaction
from core.openapi.operations import RESPONSES
from core.openapi.values import TIME, object_of, or_null
from team.menu.api import TeamViewSet
from team.tasks.models import CalendarFeed, CalendarFeedQuerySet


class CalendarFeedViewSet(TeamViewSet):
    """The feed of the tasks of the user. Only the response that creates an address has it, because its token is stored as a digest."""

    areas = ("posts",)
    shown_once = ("url",)

    def get_queryset(self) -> CalendarFeedQuerySet:
        account, user = self.account, self.request.user
        rows: CalendarFeedQuerySet = CalendarFeed.objects.filter(account_id=account.id, user_id=user.id)
        return rows

    def created_at(self) -> str | None:
        """Return the time at which the address was created, or None if there is none."""
        return format_time(self.get_queryset().values_list("created_at", flat=True).first(), self.account.zone)

    def retrieve(self, request: APIRequest) -> HttpResponse:
        return Response({"created_at": self.created_at()})

    def create(self, request: APIRequest) -> HttpResponse:
        """Create an address. An earlier one no longer works."""
        self.check()
        token = in_transaction(lambda: CalendarFeed.objects.issue(request.user))
        path = reverse("team-tasks-ics", query={"token": token})
        data = {"url": url_of_account(request._request, self.account) + path, "created_at": self.created_at()}
        location = self.base_url + reverse("team-json-calendar-feed")
        return Response(data, status=201, headers={"Location": location})

    def destroy(self, request: APIRequest) -> HttpResponse:
        in_transaction(lambda: self.get_queryset().delete())
        return Response("ok")


# The OpenAPI document, as far as views and serializers do not tell it
RESPONSES["read_calendar_feed"] = object_of(created_at=or_null(TIME))
# The address is null if a repeated request has the same Idempotency-Key.
RESPONSES["create_calendar_feed"] = object_of(url={"type": ["string", "null"], "format": "uri"}, created_at=TIME)
