"""Authentication by an API token, for the Account API."""

import re

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts.sessions import throttling
from accounts.sessions.authentication import account_request, attach_account
from accounts.sessions.throttling import RefusalReason, Way, log_refusal
from accounts.tokens.models import APIToken
from accounts.users.models import User

# The form of Ruby on Rails: `Token token="secret/acme"`, optionally with further parameters.
_TOKEN_PARAMETER = re.compile(r'token\s*=\s*"?([^"\s,;]*)"?(?:\s*[,;].*)?', re.IGNORECASE | re.DOTALL)


class TokenAuthentication(BaseAuthentication):
    """An API token in the body, in the query or in the Authorization header. Tokens in several places must be equal.

    At a host of the token's account, the slash and the prefix after it are optional.
    """

    def authenticate(self, request: Request) -> tuple[User, APIToken] | None:
        tokens: list[object] = []
        scheme, _, value = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() in {"bearer", "token"}:
            value = value.strip()
            parameter = _TOKEN_PARAMETER.fullmatch(value)
            tokens.append(parameter[1] if parameter else value)
        tokens += request.query_params.getlist("api_token")
        if isinstance(request.data, dict) and request.data.get("api_token") is not None:
            tokens.append(request.data["api_token"])
        if not tokens:
            return None
        row = self.find(request, tokens)
        if row is None:
            log_refusal(request, Way.TOKEN, RefusalReason.INVALID_TOKEN)
            throttling.count_wrong_token(request)
            raise AuthenticationFailed
        row.touch()
        attach_account(request, row.user, row.account, token_label=row.label)
        return row.user, row

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

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="account"'
