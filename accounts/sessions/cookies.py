"""The cookies of the pages.

The `__Host-` prefix limits each cookie to one host, so that a tenant cannot set or read the cookies of another tenant.
"""

from datetime import timedelta
from typing import Literal

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpResponse

SESSION_COOKIE = f"{settings.COOKIE_PREFIX}session"
# The nonce of a browser that has begun a hand-over.
HANDOVER_COOKIE = f"{settings.COOKIE_PREFIX}handover"
# The secret of a browser that asked for a sign-in code.
CODE_COOKIE = f"{settings.COOKIE_PREFIX}code"
# The users who have signed in in this browser before.
KNOWN_BROWSER_COOKIE = f"{settings.COOKIE_PREFIX}known"
# The API token that a user created during this visit (`accounts.tokens.visit_token`).
VISIT_TOKEN_COOKIE = f"{settings.COOKIE_PREFIX}token"


class Messages(CookieStorage):
    """The messages for the next page, in a signed cookie."""

    cookie_name = f"{settings.COOKIE_PREFIX}messages"


def set_cookie(
    response: HttpResponse,
    name: str,
    value: str,
    lifetime: timedelta | None,
    *,
    samesite: Literal["Lax", "Strict"] = "Lax",
) -> None:
    """Set a cookie. With the lifetime None, the browser deletes it when it is closed."""
    response.set_cookie(name, value, max_age=lifetime, secure=settings.HTTPS, httponly=True, samesite=samesite)


def delete_cookie(response: HttpResponse, name: str) -> None:
    # `HttpResponse.delete_cookie` would set no `Secure`, which the `__Host-` prefix requires.
    set_cookie(response, name, "", timedelta())
