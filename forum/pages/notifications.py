"""The page of a user's notifications, and the button to follow a suggestion."""

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.host_names import public_url
from accounts.pages.settings import parse_id
from core.api.paging import Page as ListPage
from core.db.transactions import in_transaction
from core.error_responses import error_response
from core.errors import FieldErrors
from core.pages.base import redirect
from forum.models import Follow, Notification, Post
from forum.notifications.texts import ICONS, describe, path_of
from forum.pages.base import ForumPage
from forum.pages.writing import PostMerged, PostNotFound, lock_post, post_not_found
from forum.requests import ForumUserRequest


class NotificationsPage(ForumPage):
    """The notifications of the user, newest first. Buttons mark one or all as read; opening one marks it as read, too."""

    request: ForumUserRequest
    access = "user"
    indexed = False
    template_name = "forum/notifications.html"

    def get(self, request: ForumUserRequest) -> HttpResponse:
        try:
            page = ListPage.read(request.GET.dict())
        except FieldErrors:
            raise Http404 from None
        only_unread = request.GET.get("show") == "unread"
        rows = request.account.notifications.shown_to(request.user).with_details()
        rows = list((rows.unread() if only_unread else rows)[page.start : page.stop])
        return self.render(
            section="notifications",
            notifications=[self.as_item(row) for row in rows[: page.size]],
            only_unread=only_unread,
            page=page,
            more=len(rows) > page.size,
        )

    @staticmethod
    def as_item(row: Notification) -> dict[str, Any]:
        return {"row": row, "text": describe(row), "icon": ICONS[row.activity.kind], "is_read": row.read_at is not None}

    def post(self, request: ForumUserRequest) -> HttpResponse:
        rows = request.account.notifications.of_user(request.user)
        if "all" in request.POST:
            in_transaction(rows.mark_read)
            messages.success(request, _("All notifications are marked as read."))
            return redirect("forum-notifications")
        name = "open" if "open" in request.POST else "read"
        id = parse_id(request.POST.get(name))
        row = rows.filter(id=id).with_details().first() if id else None
        if row is None:
            return error_response(request, HTTPStatus.NOT_FOUND, message=_("This notification is no longer here."))
        in_transaction(rows.filter(id=row.id).mark_read)
        if name == "open":
            return redirect(self.path_to(row))
        return redirect(reverse("forum-notifications", query={"show": "unread"} if "unread" in request.POST else None))

    def path_to(self, row: Notification) -> str:
        """Return the address of the page that shows the notification's subject. It may be at the host of another forum."""
        path, post = path_of(row.activity), row.activity.post
        if post is None or post.forum_id in (None, self.request.forum.id):
            return path
        hosts = self.request.account.forums.filter(id=post.forum_id)
        host = self.request.account.hosts.filter(id__in=hosts.values("host_id")).values_list("name", flat=True).first()
        return path if host is None else public_url(host) + path


class FollowPage(ForumPage):
    """The button to follow a suggestion. `follow` is 1 or 0, so a request that is sent twice does no harm."""

    request: ForumUserRequest
    access = "user"

    def post(self, request: ForumUserRequest, id: int) -> HttpResponse:
        follows = {"1": True, "0": False}.get(request.POST.get("follow", ""))
        if follows is None:
            return error_response(request, HTTPStatus.UNPROCESSABLE_ENTITY)

        def choose() -> Post:
            post = lock_post(request, id)
            Follow.objects.choose(post, by=request.user, follows=follows)
            return post

        try:
            post = in_transaction(choose)
        except PostNotFound:
            return post_not_found(request)
        except PostMerged as merged:
            messages.error(request, _("That suggestion was merged into this one in the meantime. You can follow it here."))
            return redirect("forum-post", merged.original.id)
        message = _("You follow “%(title)s”.") if follows else _("You no longer follow “%(title)s”.")
        messages.success(request, message % {"title": post.title})
        return redirect(reverse("forum-post", args=[id], fragment="follow"))
