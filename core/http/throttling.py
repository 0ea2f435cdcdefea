"""Rate limits of requests, in both APIs and on pages. `core.limits.rate_limits` counts them.

A count is committed before the transaction of the request begins. So a rollback does not undo the count, and no request waits long
for the row of the count.
"""

import ipaddress
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import Promise
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from core.errors import Throttled
from core.http.requests import RequestOfAPI, RequestOfHost, RequestOfPage
from core.limits import client_address
from core.limits.rate_limits import LimitStatus, hashed_key, hit, rate_limiter

if TYPE_CHECKING:
    from rest_framework.views import APIView

# A request of an API or of a page.
AnyRequest = Request | HttpRequest

MINUTE, HOUR, DAY = 60, 3600, 24 * 3600

# Previews of Markdown per minute for each user. A preview takes more time of the processor than most pages.
MAX_PREVIEWS_PER_MINUTE = 60
# Exports per minute for each account.
MAX_EXPORTS_PER_MINUTE = 10


def client_address_of(request: AnyRequest) -> str:
    """Return the address by which limits count the client."""
    return client_address.read_address(request.META)


def is_in_networks(request: AnyRequest, networks: Iterable[str]) -> bool:
    """Return whether the networks, such as 203.0.113.0/24, have the whole address of the client."""
    address = client_address.parse(request.META.get("REMOTE_ADDR", ""))
    return address is not None and any(address in ipaddress.ip_network(network) for network in networks)


def hit_address(request: AnyRequest, action: str, limit: int, seconds: int) -> LimitStatus:
    """Count an action for the client address, and for the wider network of an IPv6 address. Return the state of the limit."""
    networks = client_address.counted_networks(client_address_of(request))
    statuses = [rate_limiter.hit(hashed_key(action, network), limit * factor, seconds) for network, factor in networks]
    return next((status for status in statuses if not status.allowed), statuses[0])


def django_request(request: AnyRequest) -> RequestOfHost:
    """Return Django's request, which a request of an API wraps. Return the request of a page unchanged."""
    return cast(RequestOfHost, request._request if isinstance(request, Request) else request)


def enforce_limit(request: AnyRequest, status: LimitStatus, message: str | Promise | None = None) -> None:
    """Set the status whose headers AccountMiddleware adds to the response. Raise Throttled if the limit is exceeded."""
    django_request(request).limit_status = status
    if not status.allowed:
        raise Throttled(status.reset, message)


def limit_of(request: AnyRequest) -> int:
    """Return the requests per minute of each token or user: those of the account's plan, or RATE_LIMIT."""
    account = getattr(django_request(request), "account", None)
    limit: int = (account and account.rate_limit) or settings.RATE_LIMIT
    return limit


class CallerThrottle(BaseThrottle):
    """RATE_LIMIT of a token, or of the user of a request without a token."""

    status: LimitStatus

    def allow_request(self, request: Request, view: "APIView") -> bool:
        caller = cast(RequestOfAPI, request).auth or cast(RequestOfAPI, request).user
        if not settings.RATE_LIMIT or caller is None:
            return True
        kind = "user" if request.auth is None else "token"
        self.status = rate_limiter.hit(f"{kind}:{caller.account_id}:{caller.id}", limit_of(request), MINUTE)
        django_request(request).limit_status = self.status
        return self.status.allowed

    def wait(self) -> int:
        return self.status.reset


def count_page_action(request: RequestOfPage) -> None:
    """Apply RATE_LIMIT to a user's actions on pages, together with the user's API requests by HTTP Basic. Raise Throttled."""
    if settings.RATE_LIMIT and request.user is not None:
        key = f"user:{request.user.account_id}:{request.user.id}"
        enforce_limit(request, rate_limiter.hit(key, limit_of(request), MINUTE))


def count_search(request: RequestOfPage) -> None:
    """Apply RATE_LIMIT to searches on pages, including those of visitors, because a search is slower than a list. Raise Throttled."""
    if request.user is not None:
        count_page_action(request)
    elif settings.RATE_LIMIT:
        enforce_limit(request, hit_address(request, "search", settings.RATE_LIMIT, MINUTE))


def count_preview(request: RequestOfPage) -> None:
    if settings.RATE_LIMIT and request.user is not None:
        key = f"preview:{request.user.account_id}:{request.user.id}"
        enforce_limit(request, rate_limiter.hit(key, MAX_PREVIEWS_PER_MINUTE, MINUTE))


def count_export(request: AnyRequest) -> None:
    if settings.RATE_LIMIT:
        account = cast(RequestOfPage, django_request(request)).account
        enforce_limit(request, hit(f"export:{account.id}", MAX_EXPORTS_PER_MINUTE, MINUTE))


def count_picture(request: RequestOfPage) -> None:
    """Apply RATE_LIMIT to requests that generate a picture, for each client address. Raise Throttled."""
    if settings.RATE_LIMIT:
        enforce_limit(request, hit_address(request, "picture", settings.RATE_LIMIT, MINUTE))


def count_from_address(request: HttpRequest, action: str) -> None:
    """Apply FAILED_LOGIN_LIMIT to an action of visitors, such as signing up, for each address. Raise Throttled."""
    if settings.FAILED_LOGIN_LIMIT:
        enforce_limit(request, hit_address(request, action, settings.FAILED_LOGIN_LIMIT, HOUR))
