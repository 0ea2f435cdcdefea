"""The types of API requests with the models of this room."""

from typing import TYPE_CHECKING

from accounts.hosts.requests import AccountRequest
from core.http.requests import RequestOfAPI

if TYPE_CHECKING:
    from accounts.tokens.models import APIToken
    from accounts.users.models import User


class APIRequest(RequestOfAPI):
    """DRF's request after authentication. The type is only used in annotations."""

    _request: AccountRequest
    # None before authentication.
    user: "User"
    # None for HTTP Basic and for a session.
    auth: "APIToken | None"
