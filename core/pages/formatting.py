"""The language of pages, and numbers, amounts, dates and times as people read them, in the format of the active language and region.

To format a date takes 70 µs, and pages repeat them, so the texts are cached.
"""

from collections.abc import Callable
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Any

from babel import Locale
from babel.dates import format_date, format_skeleton, format_time
from django.conf import settings
from django.http import HttpRequest
from django.utils import formats, numberformat, timezone
from django.utils.functional import lazy
from django.utils.translation import get_language, trans_real

from core.http.regions import format_locale, is_country
from core.numbers import decimal_places, has_two_readings

# The key of the preference of a user (`User.preferences`).
REGION_PREFERENCE = "region"
# Languages that separate thousands only in numbers of five digits or more (`minimumGroupingDigits` of CLDR is 2).
LANGUAGES_GROUPING_FROM_FIVE_DIGITS = frozenset({"pl"})


def number_text(value: int | float | Decimal, places: int | None = None, *, is_grouped: bool = True) -> str:
    """Return a number, rounded to `places` decimal places. Without `places`, it is exact and has no zeros at its end.

    With `is_grouped`, thousands are separated as the language does it. `core.numbers` reads each exact number back: one with exactly three
    decimal places, which has two readings, gets a zero.
    """
    return _number_text(str(value), places, is_grouped, get_language() or "", format_locale())


@lru_cache(maxsize=5_000)
def _number_text(value: str, places: int | None, is_grouped: bool, language: str, locale: str) -> str:
    number = Decimal(value)
    number = number.normalize() if places is None else number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    text = format(number, "f")
    if places is None and has_two_readings(text):
        text += "0"
    whole, _point, decimals = text.removeprefix("-").partition(".")
    is_long = len(whole) > 4 or language.partition("-")[0] not in LANGUAGES_GROUPING_FROM_FIVE_DIGITS
    if locale:
        point, separator = separators_of(locale)
        grouping = 3 if is_grouped else 0
        return str(numberformat.format(text, point, len(decimals), grouping, separator, force_grouping=is_grouped))
    return formats.number_format(text, len(decimals), use_l10n=True, force_grouping=is_grouped and is_long)


def separators_of(locale: str) -> tuple[str, str]:
    """Return the decimal point of a locale of Babel, and the separator of thousands."""
    symbols = Locale.parse(locale).number_symbols
    symbols = symbols.get("latn", symbols)
    return symbols["decimal"], symbols["group"]


def amount_text(
    value: int | float | Decimal, currency: str, *, is_rounded: bool = False, is_grouped: bool = True
) -> str:
    """Return an amount of money, without its currency, but with the usual number of decimal places of the currency.

    An amount with more decimal places is not rounded unless it `is_rounded`, which is for estimates.
    """
    usual = places = decimal_places(currency)
    text = format(Decimal(str(value)).normalize(), "f")
    exact = len(text.partition(".")[2])
    if exact > usual and not is_rounded:
        places = 4 if has_two_readings(text) else max(exact, 2)
    return number_text(value, places, is_grouped=is_grouped)


def date_text(day: date, kind: str = "DATE_FORMAT") -> str:
    """Return a date in one of the formats of Django's languages, as the region of the reader has it."""
    return _date_text(day, kind, get_language(), format_locale())


# The day of a time, in the language and the time zone that are active when the text is used.
lazy_date = lazy(lambda moment: date_text(timezone.localdate(moment)), str)


def time_text(moment: datetime, kind: str = "DATETIME_FORMAT") -> str:
    """Return a time in the active time zone, to the minute, in one of the formats of Django's languages."""
    # Without its time zone: the same moment in two time zones is equal, but has two texts.
    local = timezone.localtime(moment).replace(second=0, microsecond=0, tzinfo=None)
    return _date_text(local, kind, get_language(), format_locale())


@lru_cache(maxsize=5_000)
def _date_text(day: date, kind: str, language: str | None, locale: str) -> str:
    write = _REGIONAL.get(kind) if locale else None
    return formats.date_format(day, kind) if write is None else write(day, locale)


# The formats of a locale of Babel, by the names of Django's.
_REGIONAL: dict[str, Callable[[Any, str], str]] = {
    "DATE_FORMAT": lambda day, locale: format_date(day, "medium", locale),
    "DATETIME_FORMAT": lambda day, locale: (
        f"{format_date(day, 'medium', locale)}, {format_time(day, 'short', locale=locale)}"
    ),
    "TIME_FORMAT": lambda day, locale: format_time(day, "short", locale=locale),
    "YEAR_MONTH_FORMAT": lambda day, locale: format_skeleton("yMMMM", day, locale=locale),
    "MONTH_DAY_FORMAT": lambda day, locale: format_skeleton("MMMMd", day, locale=locale),
}


LANGUAGE_COOKIE = f"{settings.COOKIE_PREFIX}language"


def language_of(request: HttpRequest) -> str:
    """Return the first supported language among those of the user, the cookie, the browser and the account.

    It takes no statement, because error pages need it when the database is unavailable.
    """
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


def region_of(request: HttpRequest) -> str:
    """Return the country whose formats the user of a request reads, or "" for those of the active language.

    It is the one that the user chose, that of the account, or that which the browser adds to the language. It takes no statement.
    """
    user, account = getattr(request, "user", None), getattr(request, "account", None)
    chosen = str(user.preferences.get(REGION_PREFERENCE, "")) if user else ""
    if country := chosen or str(account.country if account else ""):
        return country
    language = (get_language() or "").partition("-")[0]
    for code, _ in trans_real.parse_accept_lang_header(request.headers.get("Accept-Language", "")[:500].lower()):
        asked, _hyphen, country = code.partition("-")
        if asked == language:
            return country.upper() if is_country(country.upper()) else ""
    return ""
