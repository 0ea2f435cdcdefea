"""The language of pages. Error pages need it without the database, so it uses no queries."""

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import trans_real

LANGUAGE_COOKIE = f"{settings.COOKIE_PREFIX}language"


def language_of(request: HttpRequest) -> str:
    """Return the first supported one of these: the language of the user, of the cookie, of the browser, of the account."""
    supported = dict(settings.LANGUAGES)
    # A request that was rejected early has neither.
    user, account = getattr(request, "user", None), getattr(request, "account", None)
    for chosen in (user and user.language, request.COOKIES.get(LANGUAGE_COOKIE)):
        if chosen in supported:
            return str(chosen)
    for code, _ in trans_real.parse_accept_lang_header(request.headers.get("Accept-Language", "")[:500].lower()):
        if (code := code.partition("-")[0]) in supported:
            return code
    language = account.language if account else ""
    return language if language in supported else settings.LANGUAGE_CODE
