"""The type of the requests of API views."""

from typing import TYPE_CHECKING

from rest_framework.request import Request

from core.http.requests import AccountRequest

if TYPE_CHECKING:
    from accounts.tokens.models import APIToken
    from accounts.users.models import User


class APIRequest(Request):
    """DRF's request after authentication. The type is only used in annotations."""

    _request: AccountRequest
    # None before authentication.
    user: "User"
    # None for HTTP Basic and for a session.
    auth: "APIToken | None"
