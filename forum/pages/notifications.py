"""The page of a user's notifications, and the button to follow a suggestion."""

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.host_names import public_url
from accounts.pages.settings import parse_id
from core.db.transactions import in_transaction
from core.error_responses import error_response
from core.pages.base import redirect
from forum.models import Follow, Notification, Post
from forum.notifications.texts import ICONS, describe, path_of
from forum.pages.base import ForumPage
from forum.pages.writing import PostMerged, PostNotFound, lock_post, post_not_found
from forum.requests import ForumUserRequest


class NotificationsPage(ForumPage):
    """The notifications of the user, newest first. Buttons mark one or all as read. Opening a notification also marks it as read."""

    request: ForumUserRequest
    for_members = "never"
    access = "user"
    indexed = False
    template_name = "forum/notifications.html"

    def get(self, request: ForumUserRequest) -> HttpResponse:
        page = self.read_page()
        only_unread = request.GET.get("show") == "unread"
        shown = request.account.notifications.shown_to(request.user).with_details()
        rows = list((shown.unread() if only_unread else shown)[page.start : page.stop])
        other_forums = self.other_forums(rows)
        return self.render(
            section="notifications",
            notifications=[self.as_item(row, other_forums) for row in rows[: page.size]],
            only_unread=only_unread,
            page=page,
            more=len(rows) > page.size,
        )

    @staticmethod
    def as_item(row: Notification, other_forums: dict[int | None, str]) -> dict[str, Any]:
        """Return the values of a notification for the template. `url` is set if the suggestion belongs to another forum."""
        post = row.activity.post
        base = other_forums.get(post.forum_id) if post is not None else None
        return {
            "row": row,
            "text": describe(row),
            "icon": ICONS[row.activity.kind],
            "is_read": row.read_at is not None,
            "url": base and base + path_of(row),
        }

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
            return redirect(path_of(row))
        return redirect(reverse("forum-notifications", query={"show": "unread"} if "unread" in request.POST else None))

    def other_forums(self, rows: list[Notification]) -> dict[int | None, str]:
        """Return the URLs of the other forums that posts of these notifications belong to, by the id of the forum.

        The content security policy forbids that a form redirects to another host, so these notifications have links instead of forms.
        """
        posts = (row.activity.post for row in rows)
        ids = {post.forum_id for post in posts if post is not None and post.forum_id is not None}
        ids.discard(self.request.forum.id)
        if not ids:
            return {}
        account = self.request.account
        hosts, by_team = {host.id: host for host in account.hosts.all()}, self.request.user.is_team
        forums = account.forums.filter(id__in=ids)
        return {
            forum.id: public_url(forum.host_for(hosts[forum.host_id], account, by_team=by_team)) for forum in forums
        }


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
            messages.error(
                request, _("That suggestion was merged into this one in the meantime. You can follow it here.")
            )
            return redirect("forum-post", merged.original.id)
        message = _("You follow “%(title)s”.") if follows else _("You no longer follow “%(title)s”.")
        messages.success(request, message % {"title": post.title})
        return redirect(reverse("forum-post", args=[id], fragment="follow"))
