"""Authentication by an API token, for the Account API."""

import re
from typing import cast

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts.hosts.addresses import host_cache
from accounts.hosts.names import normalize
from accounts.hosts.requests import TenantRequest
from accounts.sessions import throttling
from accounts.sessions.authentication import BasicAuthentication, account_request, attach_account
from accounts.sessions.cookies import SESSION_COOKIE
from accounts.sessions.models import Session
from accounts.sessions.throttling import RefusalReason, Way, log_refusal
from accounts.tokens.models import APIToken
from accounts.users.models import User
from core.http.throttling import client_address_of, is_in_networks

# The form of Ruby on Rails: `Token token="secret/acme"`, optionally with further parameters.
_TOKEN_PARAMETER = re.compile(r'token\s*=\s*"?([^"\s,;]*)"?(?:\s*[,;].*)?', re.IGNORECASE | re.DOTALL)


class TokenAuthentication(BaseAuthentication):
    """An API token in the body, in the query or in the Authorization header. Tokens in several places must be equal.

    At a host of the token's account, the slash and the prefix after it are optional.
    """

    def authenticate(self, request: Request) -> tuple[User, APIToken] | None:
        tokens = self.tokens_before_body(request)
        if isinstance(request.data, dict) and request.data.get("api_token") is not None:
            tokens.append(request.data["api_token"])
        if not tokens:
            return None
        row = self.find(request, tokens)
        if row is None or not self.may_use(request, row):
            # Both get the same answer after the same statements, so that a stolen token does not show where it is valid.
            reason = RefusalReason.INVALID_TOKEN if row is None else RefusalReason.OTHER_NETWORK
            log_refusal(request, Way.TOKEN, reason, user=None if row is None else row.user)
            throttling.count_wrong_token(request)
            raise AuthenticationFailed
        row.touch(client_address_of(request))
        attach_account(request, row.user, row.account, token_label=row.label)
        return row.user, row

    @staticmethod
    def tokens_before_body(request: Request) -> list[object]:
        """Return the tokens in the Authorization header and in the query."""
        tokens: list[object] = []
        scheme, _, value = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() in {"bearer", "token"}:
            value = value.strip()
            parameter = _TOKEN_PARAMETER.fullmatch(value)
            tokens.append(parameter[1] if parameter else value)
        return tokens + request.query_params.getlist("api_token")

    def find(self, request: Request, tokens: list[object]) -> APIToken | None:
        """Return the stored token. Return None if the tokens of the request differ, or if the host is one of another account."""
        address = account_request(request).address
        full_tokens = set()
        for token in tokens:
            if not isinstance(token, str) or len(token) > APIToken.MAX_LENGTH:
                return None
            full_tokens.add(token if "/" in token else f"{token}/{address.prefix}")
        if len(full_tokens) > 1:
            return None
        row = APIToken.objects.find_by_token(full_tokens.pop())
        if row is not None and (address.token_selects_account or row.account_id == address.account_id):
            return row
        return None

    @staticmethod
    def may_use(request: Request, row: APIToken) -> bool:
        """Return whether the client address is in the networks of the token."""
        return row.networks is None or is_in_networks(request, row.networks)

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="account"'


class BasicOrTokenAuthentication(BasicAuthentication):
    """HTTP Basic whose password may be a token of the user, which users with a second factor need."""

    def accept_token(self, request: Request, user: User, password: str) -> APIToken | None:
        if not password.endswith(f"/{user.account.prefix}") or len(password) > APIToken.MAX_LENGTH:
            return None
        row = APIToken.objects.find_by_token(password)
        if row is None or (row.account_id, row.user_id) != (user.account_id, user.id):
            return None
        # The areas of scopes are those of the Account API.
        if row.scopes is not None or not TokenAuthentication.may_use(request, row):
            return None
        row.touch(client_address_of(request))
        attach_account(request, user, row.account, token_label=row.label)
        return row


def find_account_of_upload(request: HttpRequest) -> int | None:
    """Return the id of the account whose user or token sends a long body. It is found by the headers and the query alone.

    The view authenticates the request again. Call this before the middleware.
    """
    host = normalize(request.META.get("HTTP_HOST", ""))
    address = host_cache.find(host) if host else None
    if address is None:
        return None
    cast(TenantRequest, request).address = address
    wrapped = Request(request)
    authentication = TokenAuthentication()
    if tokens := authentication.tokens_before_body(wrapped):
        token = authentication.find(wrapped, tokens)
        return token.account_id if token and authentication.may_use(wrapped, token) else None
    secret = request.COOKIES.get(SESSION_COOKIE)
    if not secret or address.account_id is None:
        return None
    session = Session.objects.find_by_secret(address.account_id, secret, domain=address.domain)
    return session.account_id if session else None
