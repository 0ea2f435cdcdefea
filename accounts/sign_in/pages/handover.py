"""The four steps of a hand-over of a sign-in between two hosts of an account (`accounts.sign_in.models`).

Each is a redirect after a GET, because the switcher of forums is a list of links. A redirect goes to a stored host of the account, or to
a path of the same host, never to an address in the request.
"""

import re

from django.conf import settings
from django.http import HttpResponse
from django.urls import reverse

from accounts.hosts.addresses import host_cache
from accounts.hosts.names import full_name, is_front, public_url
from accounts.hosts.requests import PageRequest
from accounts.sessions.cookies import HANDOVER_COOKIE, delete_cookie, set_cookie
from accounts.sessions.throttling import RefusalReason, Way, log_refusal
from accounts.sign_in.models import Handover, is_switch_token, switch_token
from accounts.sign_in.pages.sign_in import sign_in
from accounts.users.digests import new_secret
from core.http import throttling
from core.pages.base import Page, redirect, redirect_to_url, safe_path
from core.pages.navigation import home_path

# The hosts at which LOCAL_ACCOUNT answers besides its own, on a laptop.
LOCAL_HOSTS = ("localhost", "127.0.0.1")


def switch_url(request: PageRequest, host: str) -> str:
    """Return the URL of the link from the page of the request to another host of the account, with a hand-over if it is possible."""
    session = request.session
    if session is None or session.is_limited:
        return public_url(host) + home_path()
    # The log omits the values of parameters with this name.
    return reverse("accounts-handover", query={"to": host, "token": switch_token(session, host)})


def source_of(request: PageRequest) -> str:
    """Return the stored name of the host of the request, or its name on a laptop."""
    host = request.get_host().partition(":")[0]
    return host if settings.LOCAL_ACCOUNT and host in LOCAL_HOSTS else request.address.host


def approval_url(request: PageRequest, query: dict[str, str]) -> str | None:
    """Return the URL of the third step at the source that the request names, or None if it is no host of the account.

    A new account has no session at another host: the front approves the first sign-in (`accounts.account_creation.pages`).
    """
    if is_front(request.GET.get("from", "")) and request.account.prefix != settings.LOCAL_ACCOUNT:
        return public_url(request.GET["from"]) + reverse("accounts-start-approve", query=query)
    source = url_of_source(request)
    return None if source is None else source + reverse("accounts-handover-approve", query=query)


def url_of_source(request: PageRequest) -> str | None:
    """Return the URL of the host that the request names as the source, or None if the account has no such host."""
    name = request.GET.get("from")
    if request.account.prefix == settings.LOCAL_ACCOUNT and name in LOCAL_HOSTS:
        return public_url(settings.LOCAL_ACCOUNT).replace(full_name(settings.LOCAL_ACCOUNT), name)
    source = find_host(request, name)
    return None if source is None or source == request.address.host else public_url(source)


def find_host(request: PageRequest, name: str | None) -> str | None:
    """Return the stored name of a host of the account, or None if the account has no such host, or has not proven it."""
    if not name or len(name) > 255 or "\0" in name:
        return None
    address = host_cache.find(name)
    return name if address is not None and address.account_id == request.account.id and address.host == name else None


class HandoverPage(Page):
    request: PageRequest

    http_method_names = ["get"]

    @property
    def target_path(self) -> str:
        """The path of the page at the target to show in the end."""
        return safe_path(self.request, self.request.GET.get("next"))

    @property
    def token(self) -> str:
        """The token of the link, then the ticket, and in the last step the code."""
        return self.request.GET.get("token", "")[:100]

    def find_target(self) -> str | None:
        """Return the stored name of the host that the request names as the target, or None if the account has no such host."""
        target = find_host(self.request, self.request.GET.get("to"))
        return None if target == self.request.address.host else target


class StartHandover(HandoverPage):
    """The first step, at the source. Visitors, and users who did not follow a link on a page of the source, get no ticket."""

    def get(self, request: PageRequest) -> HttpResponse:
        target, session = self.find_target(), request.session
        if target is None:
            return redirect(self.target_path)
        if session is None or session.is_limited or not is_switch_token(self.token, session, target):
            return redirect_to_url(public_url(target) + self.target_path)
        throttling.count_page_action(request)
        ticket = Handover.objects.begin(session, host=target)
        query = {"from": source_of(request), "token": ticket, "next": self.target_path}
        return redirect_to_url(public_url(target) + reverse("accounts-handover-begin", query=query))


class BeginHandover(HandoverPage):
    """The second step, at the target. `from` names the source. A user who is signed in already needs no hand-over."""

    def get(self, request: PageRequest) -> HttpResponse:
        nonce, digest = new_secret()
        query = {"to": request.address.host, "nonce": digest.hex(), "next": self.target_path, "token": self.token}
        url = None if request.user is not None else approval_url(request, query)
        if url is None:
            return redirect(self.target_path)
        response = redirect_to_url(url)
        set_cookie(response, HANDOVER_COOKIE, nonce, Handover.LIFETIME)
        return response


class ApproveHandover(HandoverPage):
    """The third step, at the source again. Without a ticket of the session for the target, it creates no code."""

    def get(self, request: PageRequest) -> HttpResponse:
        target, nonce, session = self.find_target(), request.GET.get("nonce", ""), request.session
        if target is None or not re.fullmatch("[0-9a-f]{64}", nonce):
            return redirect(self.target_path)
        code = None
        if session is not None and not session.is_limited:
            code = Handover.objects.approve(session, self.token, host=target, nonce=bytes.fromhex(nonce))
        if code is None:
            return redirect_to_url(public_url(target) + self.target_path)
        query = {"token": code, "next": self.target_path}
        return redirect_to_url(public_url(target) + reverse("accounts-handover-finish", query=query))


class FinishHandover(HandoverPage):
    """The fourth step, at the target again. With an invalid code, the page is shown as to a visitor."""

    def get(self, request: PageRequest) -> HttpResponse:
        nonce = request.COOKIES.get(HANDOVER_COOKIE, "")
        response = redirect(self.target_path)
        delete_cookie(response, HANDOVER_COOKIE)
        if request.user is None:
            session = Handover.objects.use(request.account.id, self.token, host=request.address.host, nonce=nonce)
            if session is not None:
                sign_in(request, response, session.user, family=session.family, is_verified=session.is_verified)
            else:
                log_refusal(request, Way.HANDOVER, RefusalReason.INVALID_LINK)
        return response
