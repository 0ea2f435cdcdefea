"""The type of the requests of API views."""

from rest_framework.request import Request

from core.http.requests import AccountRequest
from core.tenants import Caller, User


class APIRequest(Request):
    """DRF's request after authentication. The type is only used in annotations."""

    _request: AccountRequest
    # None before authentication.
    user: User  # type: ignore[assignment]  # the stubs expect a class of django.contrib.auth
    # None for HTTP Basic and for a session.
    auth: Caller | None
