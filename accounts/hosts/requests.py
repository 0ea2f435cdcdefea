"""Types of requests with the models of this room. Like those of `core.http.requests`, the types are only used in annotations."""

from typing import TYPE_CHECKING, cast

from core.http import requests
from core.http.throttling import AnyRequest, django_request

if TYPE_CHECKING:
    from accounts.account.models import Account
    from accounts.hosts.addresses import Address, Site
    from accounts.sessions.models import Session
    from accounts.users.models import User


class TenantRequest(requests.RequestOfHost):
    address: "Address"


class AccountRequest(TenantRequest, requests.RequestOfAccount):
    account: "Account"


class PageRequest(AccountRequest, requests.RequestOfPage):
    """A request of a page, after `PagesMiddleware`.

    `account` and `site` are None at a host without a site, where `Page` responds with 404.
    """

    user: "User | None"
    session: "Session | None"
    site: "Site"  # type: ignore[assignment]  # not the class of django.contrib.sites


class UserRequest(PageRequest):
    """A request of a page that a user has signed in to see."""

    user: "User"
    session: "Session"


def address_of(request: AnyRequest) -> "Address":
    """Return the address of a request of a page or an API."""
    return cast("Address", django_request(request).address)


# The conditions under which entries of menus are shown


def is_owner(request: PageRequest) -> bool:
    return request.user is not None and request.user.is_owner


def is_admin(request: PageRequest) -> bool:
    return request.user is not None and request.user.is_admin


def is_team(request: PageRequest) -> bool:
    return request.user is not None and request.user.is_team
