"""Authentication: HTTP Basic for the Forum API, an api_token for the Account API.

Both read the user and the account in one statement and put the account on the request, so that whatever is decided is
decided on what the database says now.
"""

import base64
import binascii
import re

from django.http import HttpRequest
from django.middleware.csrf import CsrfViewMiddleware
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from accounts import passwords, throttling
from accounts.cookies import SESSION_COOKIE
from accounts.models import Account, APIToken, Session, User
from core.db.text import is_xml_text


def admit(request: Request, user: User, account: Account) -> None:
    request._request.account = account
    # For the access log: who, by numbers, not by names.
    request.META["rostrum.user"] = f"{account.prefix}#{user.id}"


class SignedIn(BaseAuthentication):
    """The session of a page's user, for the examples that run in the settings. It takes the page's CSRF token with every
    request, reading ones too, so that no other site can have a browser send one."""

    def authenticate(self, request: Request):
        secret, account_id = request.COOKIES.get(SESSION_COOKIE), request._request.address.account_id
        if not secret or "HTTP_X_CSRFTOKEN" not in request.META or "HTTP_AUTHORIZATION" in request.META:
            return None
        if account_id is None:
            # At the service's own hosts nobody can have signed in.
            return None
        if not has_token_of_page(request._request):
            raise PermissionDenied("The page has expired; reload it")
        session = Session.objects.holding(account_id, secret)
        if session is None:
            return None
        admit(request, session.user, session.account)
        return session.user, None


class _TokenCheck(CsrfViewMiddleware):
    def _reject(self, request, reason):
        return reason


def has_token_of_page(request: HttpRequest) -> bool:
    """Whether it was sent by a page of this host, going by Django's own rules, which spare methods that only read."""
    check, method = _TokenCheck(lambda request: None), request.method
    check.process_request(request)
    try:
        request.method = "POST"
        return check.process_view(request, None, (), {}) is None
    finally:
        request.method = method


def is_from_elsewhere(request: HttpRequest) -> bool:
    """Whether the browser says that another site sent it."""
    return "HTTP_ORIGIN" in request.META and not _TokenCheck(lambda request: None)._origin_verified(request)


class Basic(BaseAuthentication):
    """Login, or e-mail, and password (RFC 7617)."""

    def authenticate(self, request: Request):
        scheme, _, encoded = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != "basic":
            return None
        if request.method == "POST" and not request.META.get("CONTENT_TYPE") and is_from_elsewhere(request._request):
            # A browser remembers the password, and asks nobody before it sends a body of no type for another site's page.
            raise PermissionDenied("Another site's page may not send this")
        try:
            raw = base64.b64decode(encoded.strip(), validate=True)
        except (binascii.Error, ValueError):
            raise AuthenticationFailed from None
        try:
            name, colon, password = raw.decode().partition(":")
        except UnicodeDecodeError:
            # What browsers and older libraries send.
            name, colon, password = raw.decode("latin-1").partition(":")

        user, account_id = None, request._request.address.account_id
        if colon and 0 < len(name) <= 255 and is_xml_text(name):
            user = User.objects.known_as(account_id, name)
        attempt = throttling.LoginAttempt(request, account_id, name)
        if not passwords.is_right(user, password, attempt=attempt):
            raise AuthenticationFailed
        admit(request, user, user.account)
        return user, None

    def authenticate_header(self, request: Request) -> str:
        if "HTTP_X_CSRFTOKEN" in request.META:
            # A page's own request, of a session that has ended: to Basic the browser would ask for a password itself.
            return "Session"
        realm = re.sub(r"[^ -~]", "?", request._request.address.site_name)
        realm = realm.replace("\\", "\\\\").replace('"', '\\"')
        return f'Basic realm="{realm}", charset="UTF-8"'


# As Rails writes it: `Token token="secret/acme"`, perhaps with other parameters behind it.
_TOKEN_PARAMETER = re.compile(r'token\s*=\s*"?([^"\s,;]*)"?(?:\s*[,;].*)?', re.IGNORECASE | re.DOTALL)


class Token(BaseAuthentication):
    """An api_token: in the body, in the query, or in an Authorization header; if in several, the same in each.

    At a host of its account the part from the slash on may be left out.
    """

    def authenticate(self, request: Request):
        given = []
        scheme, _, value = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() in {"bearer", "token"}:
            value = value.strip()
            parameter = _TOKEN_PARAMETER.fullmatch(value)
            given.append(parameter[1] if parameter else value)
        given += request.query_params.getlist("api_token")
        if isinstance(request.data, dict) and request.data.get("api_token") is not None:
            given.append(request.data["api_token"])
        if not given:
            return None
        row = self.find(request, given)
        if row is None:
            throttling.count_wrong_token(request)
            raise AuthenticationFailed
        row.touch()
        admit(request, row.user, row.account)
        return row.user, row

    def find(self, request: Request, given: list) -> APIToken | None:
        address = request._request.address
        if not all(isinstance(token, str) and len(token) <= APIToken.MAX_LENGTH for token in given):
            return None
        tokens = {token if "/" in token else f"{token}/{address.prefix}" for token in given}
        if len(tokens) > 1:
            return None
        row = APIToken.objects.holding(tokens.pop())
        if row is not None and (address.token_decides or row.account_id == address.account_id):
            return row
        return None

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="account"'
