"""Authentication: HTTP Basic for the Forum API, and sessions for the API examples of the pages. `accounts.tokens.authentication` has that by
token.

Each class reads the user and the account in one statement and sets `request.account`. Nothing about the user is cached, so
permissions follow the current rows.
"""

import base64
import binascii
import re
from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from accounts.account.models import Account
from accounts.audit.origin import set_caller
from accounts.hosts.requests import AccountRequest
from accounts.sessions import passwords, throttling
from accounts.sessions.cookies import SESSION_COOKIE
from accounts.sessions.models import Session
from accounts.sessions.throttling import RefusalReason, Way, log_refusal
from accounts.users.models import User
from core.db.text import is_xml_text
from core.errors import ACCOUNT_CLOSED

# Told only after the right password.
NEEDS_TOKEN = "This user signs in with more than a password: send an api_token as the password"  # noqa: S105  # a message


def attach_account(request: Request, user: User, account: Account, *, token_label: str | None = None) -> None:
    """Set the account of an authenticated request, its caller for the audit log, and the name of its user for the access log, which has
    no logins.
    """
    if account.is_closed and not getattr(request.parser_context["view"], "works_when_closed", False):
        # At a host of the account, the middleware has refused the request already.
        raise PermissionDenied(ACCOUNT_CLOSED)
    account_request(request).account = user.account = account
    set_caller(user, token_label=token_label)
    request.META["rostrum.user"] = f"{account.prefix}#{user.id}"


def account_request(request: Request) -> AccountRequest:
    """Return Django's request, which DRF wraps."""
    return cast(AccountRequest, request._request)


class SessionAuthentication(BaseAuthentication):
    """The session of a user of the pages, for the API examples in the settings.

    Every request needs the CSRF token of a page, even one that only reads, so that another site cannot make a browser send it.

    A session at a custom domain has the rights of a visitor of the forum's pages, and none here.
    """

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        address = account_request(request).address
        secret, account_id = request.COOKIES.get(SESSION_COOKIE), address.account_id
        if not secret or "HTTP_X_CSRFTOKEN" not in request.META or "HTTP_AUTHORIZATION" in request.META:
            return None
        if account_id is None:
            # The hosts of the service itself have no sign-in page.
            return None
        if not has_valid_csrf_token(request._request):
            raise PermissionDenied("The page has expired; reload it")
        if address.domain:
            raise PermissionDenied("A session at this address can't use the API; use an api_token")
        session = Session.objects.find_by_secret(account_id, secret, domain="")
        if session is None:
            return None
        if session.lacks_second_factor:
            raise PermissionDenied("This account requires a second factor: set one up in your profile")
        attach_account(request, session.user, session.account)
        return session.user, None


class _CSRFCheck(CsrfViewMiddleware):
    """Django's check of CSRF tokens, called as a function."""

    def __init__(self) -> None:
        super().__init__(lambda request: HttpResponse())

    def _reject(self, request: HttpRequest, reason: str) -> HttpResponse:
        return HttpResponse(reason)


def has_valid_csrf_token(request: HttpRequest) -> bool:
    """Return whether the request has the CSRF token of a page of this host."""
    check, method = _CSRFCheck(), request.method
    check.process_request(request)
    try:
        # Django does not check the token of a GET request.
        request.method = "POST"
        return check.process_view(request, lambda request: HttpResponse(), (), {}) is None
    finally:
        request.method = method


def is_cross_origin(request: HttpRequest) -> bool:
    """Return whether the Origin header names another site."""
    return "HTTP_ORIGIN" in request.META and not _CSRFCheck()._origin_verified(request)  # type: ignore[attr-defined]  # not in the stubs


class BasicAuthentication(BaseAuthentication):
    """HTTP Basic with a login or an e-mail, and a password (RFC 7617)."""

    def authenticate(self, request: Request) -> tuple[User, Any] | None:
        scheme, _, encoded = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != "basic":
            return None
        if request.method == "POST" and not request.META.get("CONTENT_TYPE") and is_cross_origin(request._request):
            # A browser adds stored Basic credentials, and sends a cross-origin POST without Content-Type without a preflight.
            raise PermissionDenied("Another site's page may not send this")
        try:
            raw = base64.b64decode(encoded.strip(), validate=True)
        except (binascii.Error, ValueError):
            raise AuthenticationFailed from None
        try:
            name, colon, password = raw.decode().partition(":")
        except UnicodeDecodeError:
            # Some browsers and older libraries send Latin-1.
            name, colon, password = raw.decode("latin-1").partition(":")

        # The hosts without an account do not serve the Forum API.
        user, account_id = None, cast(int, account_request(request).address.account_id)
        if colon and 0 < len(name) <= 255 and is_xml_text(name):
            user = User.objects.find_by_login(account_id, name)
        if user is not None and (auth := self.accept_token(request, user, password)) is not None:
            return user, auth
        attempt = throttling.LoginAttempt(request, account_id, name, Way.BASIC)
        if not passwords.verify(user, password, attempt=attempt) or user is None:
            raise AuthenticationFailed
        if user.must_use_sso or user.second_factor_at is not None or user.role in user.account.second_factor_roles:
            log_refusal(request, Way.BASIC, RefusalReason.NEEDS_TOKEN, user=user)
            raise PermissionDenied(NEEDS_TOKEN)
        attach_account(request, user, user.account)
        return user, None

    def accept_token(self, request: Request, user: User, password: str) -> Any:
        """Return the token of the user that is sent as the password, or None. A subclass knows tokens."""
        return None

    def authenticate_header(self, request: Request) -> str:
        if "HTTP_X_CSRFTOKEN" in request.META:
            # The request comes from a page whose session has ended. For "Basic" the browser would open its own password dialog.
            return "Session"
        realm = re.sub(r"[^ -~]", "?", account_request(request).address.site_name)
        realm = realm.replace("\\", "\\\\").replace('"', '\\"')
        return f'Basic realm="{realm}", charset="UTF-8"'
