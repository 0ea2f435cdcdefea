"""The language of pages. It is determined without queries, because error pages need it when the database is unavailable."""

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import trans_real

LANGUAGE_COOKIE = f"{settings.COOKIE_PREFIX}language"


def language_of(request: HttpRequest) -> str:
    """Return the first supported language among those of the user, the cookie, the browser and the account."""
    supported = dict(settings.LANGUAGES)
    # A request that was rejected early has neither a user nor an account.
    user, account = getattr(request, "user", None), getattr(request, "account", None)
    for setting in (user and user.language, request.COOKIES.get(LANGUAGE_COOKIE)):
        if setting in supported:
            return str(setting)
    for code, _ in trans_real.parse_accept_lang_header(request.headers.get("Accept-Language", "")[:500].lower()):
        if (code := code.partition("-")[0]) in supported:
            return code
    language = account.language if account else ""
    return language if language in supported else settings.LANGUAGE_CODE
