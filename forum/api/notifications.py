"""The notifications of the user of the token, and following suggestions."""

from typing import Any

from django.http import Http404, HttpResponse
from django.utils.translation import override

from accounts.permissions import IsAuthenticated
from core.api.fields import BooleanField
from core.api.lists import Paged
from core.api.requests import APIRequest
from core.api.serializers import format_time
from core.db.transactions import in_transaction
from core.errors import FieldError, FieldErrors
from forum.activities import NotificationQuerySet, Reason
from forum.api.views import PostViewSet
from forum.models import Follow, Notification
from forum.notifications.texts import describe


class NotificationViewSet(Paged):
    """The notifications of the user, newest first. Each user reads only their own."""

    request: APIRequest
    permission_classes = [IsAuthenticated]

    def rows(self) -> NotificationQuerySet:
        rows: NotificationQuerySet = self.account.notifications.shown_to(self.request.user).with_details()
        return rows

    def list(self, request: APIRequest) -> HttpResponse:
        errors: dict[str, FieldError] = {}
        unread: bool | None = None
        try:
            unread = BooleanField().run_validation(self.parameters.get("unread") or None)
        except FieldErrors as caught:
            errors["unread"] = caught.errors[0].within("unread")
        page = self.read_page("unread", errors=errors)
        rows = self.rows()
        if unread is not None:
            rows = rows.filter(read_at__isnull=unread)
        return self.respond_with_page(page, rows[page.start : page.stop])

    def represent(self, row: Notification) -> dict[str, Any]:
        activity, zone = row.activity, self.account.zone
        with override("en"):
            text = describe(row)
        return {
            "id": row.id,
            "kind": activity.kind,
            "reason": Reason(row.reason).name.lower(),
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
        """Mark one notification as read."""

        def act() -> tuple[Notification, list[str]]:
            ignored = self.check()
            rows = self.account.notifications.of_user(request.user).filter(id=id)
            rows.mark_read()
            row = self.rows().filter(id=id).first()
            if row is None:
                raise Http404
            return row, ignored

        row, ignored = in_transaction(act)
        return self.respond(self.represent(row), ignored=ignored)

    def read_all(self, request: APIRequest) -> HttpResponse:
        """Mark all notifications as read."""

        def act() -> list[str]:
            ignored = self.check()
            self.account.notifications.of_user(request.user).mark_read()
            return ignored

        return self.respond("ok", ignored=in_transaction(act))


class FollowViewSet(PostViewSet):
    """Following a suggestion, as the user of the token."""

    def follow(self, request: APIRequest, id: int) -> HttpResponse:
        return self.choose(id, follows=True)

    def unfollow(self, request: APIRequest, id: int) -> HttpResponse:
        return self.choose(id, follows=False)

    def choose(self, id: int, *, follows: bool) -> HttpResponse:
        def act() -> list[str]:
            ignored = self.check() if follows else []
            post = self.find(id, locked=True)
            post.check_not_merged()
            Follow.objects.choose(post, by=self.request.user, follows=follows)
            return ignored

        return self.respond("ok", ignored=in_transaction(act))
