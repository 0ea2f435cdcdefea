"""Types of requests: Django's request with the attributes that the middlewares set.

The types are only used in annotations. At run time, a request is an instance of Django's own class. `accounts.hosts.requests` says which
models the attributes have.
"""

from typing import TYPE_CHECKING, Protocol

from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request

from core.tenants import TenantAccount, TenantAddress, TenantToken, TenantUser

if TYPE_CHECKING:
    from django_htmx.middleware import HtmxDetails

    from core.limits.rate_limits import LimitStatus
    from core.limits.request_shares import RequestShare


class RequestOfHost(HttpRequest):
    """A request after `AccountMiddleware`, which has found the tenant of its host."""

    address: TenantAddress
    # The number of commits of the database connection before the request, if the backend counts them.
    commits_before: int | None
    # The state of the rate limit that the response reports. It is set when the request is counted.
    limit_status: "LimitStatus | None"
    # The share of the account and the user in the requests in progress, or None for a request within a request.
    share: "RequestShare | None"


class RequestOfAccount(RequestOfHost):
    """A request with an account: a request of a page, or a request of an API after authentication."""

    account: TenantAccount


class RequestOfPage(RequestOfAccount):
    """A request of a page, after `PagesMiddleware`. `account` is None at a host without a site, where `Page` responds with 404."""

    user: TenantUser | None  # type: ignore[assignment]  # Django's stubs expect an AnonymousUser for a visitor
    session: object | None  # type: ignore[assignment]  # not the class of django.contrib.sessions
    htmx: "HtmxDetails"


class RequestOfAPI(Request):
    """DRF's request after authentication. The type is only used in annotations."""

    _request: RequestOfAccount
    # None before authentication.
    user: TenantUser  # type: ignore[assignment]  # the stubs expect a class of django.contrib.auth
    # None for HTTP Basic and for a session.
    auth: TenantToken | None


class ViewOfAPI(Protocol):
    """The attributes of `core.api.views.TenantViewSet` that this package uses."""

    request: RequestOfAPI
    action_map: dict[str, str]
    args: tuple[object, ...]
    kwargs: dict[str, object]
    shown_once: tuple[str, ...]

    @property
    def request_options(self) -> list[str]: ...

    @property
    def account(self) -> TenantAccount: ...

    def lock_row(self) -> None: ...

    def prepare_reading(self, action: str) -> None: ...

    def render(self, response: HttpResponse) -> HttpResponse: ...
