"""The type of the requests of API views."""

from rest_framework.request import Request

from core.http.requests import RequestOfAccount
from core.tenants import Caller, TenantUser


class RequestOfAPI(Request):
    """DRF's request after authentication. The type is only used in annotations."""

    _request: RequestOfAccount
    # None before authentication.
    user: TenantUser  # type: ignore[assignment]  # the stubs expect a class of django.contrib.auth
    # None for HTTP Basic and for a session.
    auth: Caller | None
