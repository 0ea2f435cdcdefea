"""Pages that a link in an e-mail opens, and the page for a link that does not work."""

from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from accounts.hosts.requests import PageRequest
from accounts.layout.settings import parse_id
from accounts.mail import links
from accounts.users.models import User
from core.pages.base import Page


class EmailLinkPage(Page):
    """A page that a signed link in an e-mail opens. The link works once and identifies its user."""

    request: PageRequest
    purpose = ""
    # The route of the page that sends another link.
    retry_route = ""
    user: User
    # The signed data of the link.
    payload: dict[str, Any]

    def check_access(self) -> HttpResponse | None:
        return super().check_access() if self.read_link() else self.render_invalid_link()

    def read_link(self, *, lock: bool = False) -> bool:
        """Return whether the link is valid. If it is, set `user` and `payload`.

        With `lock`, lock the user, so that concurrent requests use the link one after another.
        """
        id, token = parse_id(self.request.GET.get("user")), self.request.GET.get("token", "")
        users = self.request.account.users.filter(id=id or 0, is_active=True)
        user = (users.select_for_update(no_key=True) if lock else users).first()
        payload = None if user is None else links.read(token, *user.link_subject(self.purpose))
        if user is None or payload is None:
            return False
        self.user, self.payload = user, payload
        return True

    def render_invalid_link(self) -> HttpResponse:
        return render_invalid_link(self, self.retry_route)


class EmailSent(Page):
    """The page after a form that sends a link. It is the same for all e-mail addresses."""

    template_name = "accounts/sign_in/email_sent.html"
    # The purpose of the link, and the route of the form.
    purpose = retry_route = ""

    def get(self, request: PageRequest) -> HttpResponse:
        return self.render(purpose=self.purpose, retry_url=reverse(self.retry_route))


def render_invalid_link(page: Page, retry_route: str = "", *, unsubscribes: bool = False) -> HttpResponse:
    """Render the page for a link that does not work.

    `retry_route` names the page that sends another one, if there is one. Links to unsubscribe do not expire.
    """
    return page.render(
        "accounts/sign_in/invalid_link.html",
        http_status=HTTPStatus.NOT_FOUND,
        retry_url=reverse(retry_route) if retry_route else "",
        unsubscribes=unsubscribes,
    )
