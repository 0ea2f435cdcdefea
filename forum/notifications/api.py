"""The notifications of the user of the token."""

from django.http import HttpResponse
from django.utils.translation import override
from rest_framework.response import Response

from accounts.account.models import Account
from accounts.hosts.api import APIRequest
from accounts.roles.permissions import IsAuthenticated
from core.api.fields import BooleanField
from core.api.filters import ListFilters, WireFilter
from core.api.lists import Paged
from core.api.serializers import format_time
from core.db.transactions import in_transaction
from core.openapi.operations import RESPONSES
from core.openapi.values import ID, NAME, TIME, array_of, object_of, one_of, or_null
from forum.activities.models import Activity
from forum.notifications.models import Notification, NotificationQuerySet, NotificationReason
from forum.notifications.texts import describe


class NotificationFilters(ListFilters):
    # The list has no text to search, and its rows have no time of a change.
    updated_since = None  # type: ignore[assignment]  # removes the filter of the base class
    q = None  # type: ignore[assignment]
    unread = WireFilter(BooleanField(), field_name="read_at", lookup_expr="isnull")


class NotificationViewSet(Paged):
    """The notifications of the user, newest first. Each user reads only their own."""

    areas = ("posts",)
    account: Account
    request: APIRequest
    permission_classes = [IsAuthenticated]
    filterset_class = NotificationFilters

    def get_queryset(self) -> NotificationQuerySet:
        return self.account.notifications.shown_to(self.request.user).with_details()

    def represent(self, row: Notification) -> dict[str, object]:
        activity, zone = row.activity, self.account.zone
        with override("en"):
            text = describe(row)
        return {
            "id": row.id,
            "kind": activity.kind,
            "reason": NotificationReason(row.reason).name.lower(),
            "post_id": activity.post_id,
            "comment_id": activity.comment_id,
            "note_id": activity.note_id,
            "user_id": activity.user_id,
            "title": text.title,
            "text": text.sentence,
            "excerpt": text.excerpt,
            "read_at": format_time(row.read_at, zone),
            "created_at": format_time(row.created_at, zone),
        }

    def read(self, request: APIRequest, id: int) -> HttpResponse:
        def act() -> Notification:
            self.check()
            self.account.notifications.of_user(request.user).filter(id=id).mark_read()
            row: Notification = self.get_object()
            return row

        return Response(self.represent(in_transaction(act)))

    def read_all(self, request: APIRequest) -> HttpResponse:
        def act() -> None:
            self.check()
            self.account.notifications.of_user(request.user).mark_read()

        in_transaction(act)
        return Response("ok")


# What views and serializers do not tell the OpenAPI document.
NOTIFICATION = object_of(
    id=ID,
    kind=one_of(Activity.Kind.values),
    reason=one_of(reason.name.lower() for reason in NotificationReason),
    post_id=or_null(ID),
    comment_id=or_null(ID),
    note_id=or_null(ID),
    user_id=ID,
    title=NAME,
    text=NAME,
    excerpt=NAME,
    read_at=or_null(TIME),
    created_at=TIME,
)
RESPONSES["list_notifications"] = array_of(NOTIFICATION)
RESPONSES["read_notification"] = NOTIFICATION
