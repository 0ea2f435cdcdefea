"""The cookies of the pages.

The `__Host-` prefix limits each cookie to one host, so that a tenant cannot set or read the cookies of another tenant.
"""

import secrets
from datetime import timedelta
from typing import Literal

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.core import signing
from django.http import HttpRequest, HttpResponse

from accounts.hosts.requests import PageRequest, address_of
from accounts.users.models import User
from core.http.throttling import AnyRequest, django_request

SameSite = Literal["Lax", "Strict"]

SESSION_COOKIE = f"{settings.COOKIE_PREFIX}session"
# The nonce of a browser that has begun a hand-over.
HANDOVER_COOKIE = f"{settings.COOKIE_PREFIX}handover"
# The secret of a browser that asked for a sign-in code.
CODE_COOKIE = f"{settings.COOKIE_PREFIX}code"
# What a visitor has written (`accounts.sign_in.drafts`).
TEXT_COOKIE = f"{settings.COOKIE_PREFIX}text"
# The account that a visitor wants to create (`accounts.account_creation.drafts`).
DRAFT_COOKIE = f"{settings.COOKIE_PREFIX}draft"
# The users who have signed in in this browser before.
KNOWN_BROWSER_COOKIE = f"{settings.COOKIE_PREFIX}known"
# Who has signed in with the first factor, and the challenge for a passkey (`accounts.second_factor`).
FIRST_FACTOR_COOKIE = f"{settings.COOKIE_PREFIX}first-factor"
PASSKEY_COOKIE = f"{settings.COOKIE_PREFIX}passkey"
# What the browser keeps while the user signs in at the provider of the account (`accounts.oidc`).
SSO_COOKIE = f"{settings.COOKIE_PREFIX}sso"
# The API token that a user created during this visit (`accounts.tokens.pages`).
VISIT_TOKEN_COOKIE = f"{settings.COOKIE_PREFIX}token"
# The signed and sealed cookies that the service sets are shorter.
MAX_COOKIE_LENGTH = 1000


class Messages(CookieStorage):
    """The messages for the next page, in a signed cookie."""

    cookie_name = f"{settings.COOKIE_PREFIX}messages"


def set_cookie(
    response: HttpResponse, name: str, value: str, lifetime: timedelta | None, *, samesite: SameSite = "Lax"
) -> None:
    """Set a cookie. With the lifetime None, the browser deletes it when it is closed."""
    response.set_cookie(name, value, max_age=lifetime, secure=settings.HTTPS, httponly=True, samesite=samesite)


def delete_cookie(response: HttpResponse, name: str) -> None:
    # `HttpResponse.delete_cookie` would set no `Secure`, which the `__Host-` prefix requires.
    set_cookie(response, name, "", timedelta())


# Browsers in which a user has signed in before. A signed cookie names these users, for one host.
#
# Strangers who use up the limits of a person's codes, links and passwords do not affect such a browser: it has counts of its own. A
# sign-in from any other browser is reported to the user by e-mail.

KNOWN_BROWSER_LIFETIME = timedelta(days=365)
# The users that one browser remembers. Further ones replace the oldest.
MAX_KNOWN_USERS = 10


def find_browser(request: AnyRequest, user_id: int | None = None) -> str:
    """Return the id of a browser in which the user has signed in at this host, or "". For None, any user of the account counts."""
    id, user_ids = _read_known_users(django_request(request))
    return id if user_id in user_ids or (user_id is None and user_ids) else ""


def remember_browser(request: PageRequest, response: HttpResponse, user: User) -> None:
    """Set the cookie by which `find_browser` finds the user in this browser for a year from now."""
    browser_id, user_ids = _read_known_users(request)
    users = [user.id, *(id for id in user_ids if id != user.id)][:MAX_KNOWN_USERS]
    payload = {"id": browser_id or secrets.token_urlsafe(12), "users": users}
    value = signing.dumps(payload, salt=_known_browser_salt(request))
    set_cookie(response, KNOWN_BROWSER_COOKIE, value, KNOWN_BROWSER_LIFETIME)


def _read_known_users(request: HttpRequest) -> tuple[str, list[int]]:
    """Return the id of the browser, or "", and the ids of its users."""
    value = request.COOKIES.get(KNOWN_BROWSER_COOKIE, "")
    if not (0 < len(value) <= MAX_COOKIE_LENGTH and value.isascii()):
        return "", []
    try:
        payload = signing.loads(value, salt=_known_browser_salt(request), max_age=KNOWN_BROWSER_LIFETIME)
    except signing.BadSignature:
        return "", []
    return payload["id"], payload["users"]


def _known_browser_salt(request: HttpRequest) -> str:
    """Return the salt of the signature. A cookie of another host or account is not valid, even if that host's operator copied it."""
    address = address_of(request)
    return f"known browser\0{address.account_id}\0{address.host}"
