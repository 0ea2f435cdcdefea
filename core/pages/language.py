"""The language of the pages. It is chosen before anything else can fail, so it knows no tables."""

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import trans_real

LANGUAGE_COOKIE = f"{settings.COOKIE_PREFIX}language"


def language_of(request: HttpRequest) -> str:
    """The user's language, else what was chosen on the page, else the browser's, if it is one of ours; else the account's."""
    ours = dict(settings.LANGUAGES)
    # A request that was refused early has neither.
    user, account = getattr(request, "user", None), getattr(request, "account", None)
    for chosen in (user and user.language, request.COOKIES.get(LANGUAGE_COOKIE)):
        if chosen in ours:
            return chosen
    for code, _ in trans_real.parse_accept_lang_header(request.headers.get("Accept-Language", "")[:500].lower()):
        if (code := code.partition("-")[0]) in ours:
            return code
    language = account.language if account else ""
    return language if language in ours else settings.LANGUAGE_CODE
