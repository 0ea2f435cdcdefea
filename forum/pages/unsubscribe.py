"""Unsubscribing by the link of an e-mail (RFC 8058), without signing in.

A mail program sends a POST to the link. A GET shows a page with buttons and changes nothing, because e-mail scanners open links.
"""

from typing import Any

from django.http import HttpResponse
from django.utils.translation import override
from django.views.decorators.csrf import csrf_exempt

from accounts import links
from accounts.delivery import Delivery
from accounts.mail import supported_language
from accounts.models import User
from accounts.pages.password_reset import render_invalid_link
from accounts.pages.settings import parse_id
from core.db.transactions import in_transaction
from core.pages.base import Page
from forum.models import Follow, Post
from forum.notifications.emails import UNSUBSCRIBE
from forum.requests import ForumRequest


class UnsubscribePage(Page):
    """The page that a link to unsubscribe opens. The signed token is the permission, so no CSRF token is needed."""

    request: ForumRequest
    template_name = "forum/unsubscribe.html"

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        return csrf_exempt(super().as_view(**initkwargs))

    def read_link(self) -> tuple[User, Post | None] | None:
        """Return the user, and the post if the e-mail is about one that the user may see. Return None if the link is invalid."""
        account, query = self.request.account, self.request.GET
        user = account.users.filter(id=parse_id(query.get("user")) or 0).first()
        if user is None:
            return None
        payload = links.read(query.get("token", ""), UNSUBSCRIBE, account.id, user.id, expires=False)
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
            in_transaction(lambda: user.change_preferences(delivery=Delivery.NEVER))
        # The language of the e-mail.
        with override(supported_language(user.language or request.account.language)):
            return self.render(recipient=user, post=post, stopped=stop, is_off=user.delivery == Delivery.NEVER)
