"""The page of a user's notifications, and the page to stop their e-mails."""

from http import HTTPStatus

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.views.decorators.csrf import csrf_exempt

from accounts.hosts.names import public_url
from accounts.layout.settings import parse_id
from accounts.mail.sending import read_link, supported_language
from accounts.sign_in.pages.email_links import render_invalid_link
from accounts.users.delivery import NotificationDelivery
from accounts.users.models import User
from core.db.transactions import in_transaction
from core.error_responses import error_response
from core.pages.base import Page, redirect
from forum.follows.models import Follow
from forum.forums.pages.base import ForumPage
from forum.forums.requests import ForumRequest, ForumUserRequest
from forum.notifications.models import Notification
from forum.notifications.texts import KINDS, UNSUBSCRIBE, describe, path_of
from forum.posts.models import Post


class NotificationsPage(ForumPage):
    """The notifications of the user, newest first. Buttons mark one or all as read. Opening a notification also marks it as read."""

    request: ForumUserRequest
    for_members = "never"
    access = "user"
    indexed = False
    template_name = "forum/notifications/notifications.html"

    def get(self, request: ForumUserRequest) -> HttpResponse:
        page = self.read_page()
        only_unread = request.GET.get("show") == "unread"
        shown = request.account.notifications.shown_to(request.user).with_details()
        rows = list((shown.unread() if only_unread else shown)[page.start : page.stop])
        return self.render(
            section="notifications",
            notifications=as_items(request, rows[: page.size]),
            only_unread=only_unread,
            page=page,
            more=len(rows) > page.size,
        )

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


def as_items(request: ForumUserRequest, rows: list[Notification]) -> list[dict[str, object]]:
    """Return the values of notifications for the template. `url` is set if the suggestion belongs to another forum."""
    bases = urls_of_other_forums(request, rows)
    return [
        {
            "row": row,
            "text": describe(row),
            "icon": KINDS[row.activity.kind][0],
            "is_read": row.read_at is not None,
            "url": bases[forum_id] + path_of(row) if (forum_id := forum_of(row)) in bases else None,
        }
        for row in rows
    ]


def forum_of(row: Notification) -> int | None:
    return row.activity.post.forum_id if row.activity.post is not None else None


def urls_of_other_forums(request: ForumUserRequest, rows: list[Notification]) -> dict[int | None, str]:
    """Return the URLs of the other forums that posts of these notifications belong to, by the id of the forum.

    The content security policy forbids that a form redirects to another host, so these notifications have links instead of forms.
    """
    ids = {id for row in rows if (id := forum_of(row)) not in (None, request.forum.id)}
    if not ids:
        return {}
    account, by_team = request.account, request.user.is_team
    hosts = {host.id: host for host in account.hosts.all()}
    forums = account.forums.filter(id__in=ids)
    return {row.id: public_url(row.host_for(hosts[row.host_id], account, by_team=by_team)) for row in forums}


@method_decorator(csrf_exempt, name="dispatch")
class UnsubscribePage(Page):
    """The page that the link of an e-mail to unsubscribe opens (RFC 8058), without signing in. The signed token is the permission, so no CSRF
    token is needed.

    A mail program sends a POST to the link. A GET shows a page with buttons and changes nothing, because e-mail scanners open links.
    """

    request: ForumRequest
    template_name = "forum/notifications/unsubscribe.html"

    def read_link(self) -> tuple[User, Post | None] | None:
        """Return the user, and the post if the e-mail is about one that the user may see. Return None if the link is invalid."""
        account, query = self.request.account, self.request.GET
        user = account.users.filter(id=parse_id(query.get("user")) or 0).first()
        if user is None:
            return None
        payload = read_link(query.get("token", ""), UNSUBSCRIBE, account.id, user.id, expires=False)
        if payload is None:
            return None
        posts = account.posts.visible_to(user).without_tasks()
        return user, posts.filter(id=payload["post"]).first() if payload["post"] else None

    def get(self, request: ForumRequest) -> HttpResponse:
        return self.respond_to("")

    def post(self, request: ForumRequest) -> HttpResponse:
        # A mail program sends `List-Unsubscribe=One-Click`, which means all e-mails, as does any other content.
        return self.respond_to("post" if request.POST.get("stop") == "post" else "all")

    def respond_to(self, stop: str) -> HttpResponse:
        """Stop the e-mails about the post, or all e-mails, or with "" none. Return the page."""
        link = self.read_link()
        if link is None:
            return render_invalid_link(self, unsubscribes=True)
        request, (user, post) = self.request, link
        if stop == "post" and post is not None:
            in_transaction(lambda: Follow.objects.choose(post, by=user, follows=False))
        elif stop:
            in_transaction(lambda: user.change(delivery=NotificationDelivery.NEVER))
        # The language of the e-mail.
        with override(supported_language(user.language or request.account.language)):
            is_off = user.delivery == NotificationDelivery.NEVER
            return self.render(recipient=user, post=post, stopped=stop, is_off=is_off)
