"""The cookies of the pages. Each is of one host alone (`__Host-`), so that no tenant can set or read another's."""

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpResponse

from accounts.models import Session
from core.pages.language import LANGUAGE_COOKIE

SESSION_COOKIE = f"{settings.COOKIE_PREFIX}session"


class Messages(CookieStorage):
    """What is to be said on the next page, signed, in a cookie."""

    cookie_name = f"{settings.COOKIE_PREFIX}messages"


def set_session(response: HttpResponse, secret: str) -> None:
    _set(response, SESSION_COOKIE, secret, int(Session.LIFETIME.total_seconds()))


def set_language(response: HttpResponse, language: str) -> None:
    _set(response, LANGUAGE_COOKIE, language, 365 * 24 * 3600)


def delete_session(response: HttpResponse) -> None:
    _set(response, SESSION_COOKIE, "", 0)


def _set(response: HttpResponse, name: str, value: str, seconds: int) -> None:
    response.set_cookie(name, value, max_age=seconds, path="/", secure=settings.HTTPS, httponly=True, samesite="Lax")
