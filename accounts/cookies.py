"""The cookies of the pages.

The `__Host-` prefix limits each cookie to one host, so that a tenant cannot set or read the cookies of another tenant.
"""

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpResponse

from accounts.models import Handover, Session, SignInCode
from core.pages.language import LANGUAGE_COOKIE

SESSION_COOKIE = f"{settings.COOKIE_PREFIX}session"
# The nonce of a browser that has begun a hand-over.
HANDOVER_COOKIE = f"{settings.COOKIE_PREFIX}handover"
# The secret of a browser that asked for a sign-in code.
CODE_COOKIE = f"{settings.COOKIE_PREFIX}code"

# The users who have signed in in this browser before.
KNOWN_BROWSER_COOKIE = f"{settings.COOKIE_PREFIX}known"


class Messages(CookieStorage):
    """The messages for the next page, in a signed cookie."""

    cookie_name = f"{settings.COOKIE_PREFIX}messages"


def set_session_cookie(response: HttpResponse, secret: str) -> None:
    _set_cookie(response, SESSION_COOKIE, secret, int(Session.LIFETIME.total_seconds()))


def set_language_cookie(response: HttpResponse, language: str) -> None:
    _set_cookie(response, LANGUAGE_COOKIE, language, 365 * 24 * 3600)


def set_code_cookie(response: HttpResponse, secret: str) -> None:
    _set_cookie(response, CODE_COOKIE, secret, int(SignInCode.LIFETIME.total_seconds()))


def delete_code_cookie(response: HttpResponse) -> None:
    _set_cookie(response, CODE_COOKIE, "", 0)


def set_handover_cookie(response: HttpResponse, nonce: str) -> None:
    _set_cookie(response, HANDOVER_COOKIE, nonce, int(Handover.LIFETIME.total_seconds()))


def delete_handover_cookie(response: HttpResponse) -> None:
    _set_cookie(response, HANDOVER_COOKIE, "", 0)


def set_known_browser_cookie(response: HttpResponse, value: str, seconds: int) -> None:
    _set_cookie(response, KNOWN_BROWSER_COOKIE, value, seconds)


def delete_session_cookie(response: HttpResponse) -> None:
    _set_cookie(response, SESSION_COOKIE, "", 0)


def _set_cookie(response: HttpResponse, name: str, value: str, seconds: int) -> None:
    response.set_cookie(name, value, max_age=seconds, path="/", secure=settings.HTTPS, httponly=True, samesite="Lax")
