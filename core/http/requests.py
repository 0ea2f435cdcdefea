"""Types of requests: Django's request with the attributes that the middlewares set.

The types are only used in annotations. At run time, a request is an instance of Django's own class.
"""

from typing import TYPE_CHECKING

from django.http import HttpRequest

if TYPE_CHECKING:
    from django_htmx.middleware import HtmxDetails

    from accounts.account.models import Account
    from accounts.hosts.addresses import Address
    from accounts.hosts.sites import Site
    from accounts.sessions.models import Session
    from accounts.users.models import User
    from core.limits.rate_limits import LimitStatus
    from core.limits.request_shares import RequestShare


class TenantRequest(HttpRequest):
    """A request after `AccountMiddleware`, which has found the tenant of its host."""

    address: "Address"
    # The number of commits of the database connection before the request, if the backend counts them.
    commits_before: int | None
    # The state of the rate limit that the response reports. It is set when the request is counted.
    limit_status: "LimitStatus | None"
    # The share of the account and the user in the requests in progress, or None for a request within a request.
    share: "RequestShare | None"


class AccountRequest(TenantRequest):
    """A request with an account: a request of a page, or a request of an API after authentication."""

    account: "Account"


class PageRequest(AccountRequest):
    """A request of a page, after `PagesMiddleware`.

    `account` and `site` are None at a host without a site, where `Page` responds with 404.
    """

    user: "User | None"  # type: ignore[assignment]  # Django's stubs expect an AnonymousUser for a visitor
    session: "Session | None"  # type: ignore[assignment]  # not the class of django.contrib.sessions
    site: "Site"  # type: ignore[assignment]  # not the class of django.contrib.sites
    htmx: "HtmxDetails"


class UserRequest(PageRequest):
    """A request of a page that a user has signed in to see."""

    user: "User"
    session: "Session"
