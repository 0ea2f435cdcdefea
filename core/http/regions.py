"""Countries, and the locales of Babel whose formats dates and numbers have.

The language of a page says how its words are written. The region of its reader says how dates and numbers are written, and on which day a week
begins: English is written differently in London and in New York.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import date, timedelta
from functools import cache

from babel import Locale, UnknownLocaleError
from babel.languages import get_territory_language_info
from django.utils.translation import get_language

# The country of the reader of the current page, or "" for the formats of the language.
_region: ContextVar[str] = ContextVar("region", default="")
# The countries whose formats those of the languages are.
COUNTRIES_OF_LANGUAGES = {"en": "US", "pl": "PL"}
MONDAY = 0


@cache
def country_names(language: str) -> dict[str, str]:
    """Return the names of the countries in a language by their codes (ISO 3166), in the order of the names."""
    names = {code: name for code, name in Locale(language).territories.items() if len(code) == 2 and code.isalpha()}
    # Codes of CLDR for regions and islands that have none of their own in ISO 3166. Kosovo has XK by usage.
    unassigned = {"AC", "CP", "CQ", "DG", "EA", "EU", "EZ", "IC", "QO", "TA", "UN", "XA", "XB", "ZZ"}
    return dict(
        sorted(((code, name) for code, name in names.items() if code not in unassigned), key=lambda pair: pair[1])
    )


def is_country(code: str) -> bool:
    return code in country_names("en")


@contextmanager
def override_region(country: str) -> Iterator[None]:
    """Write dates and numbers in the block as readers in the country do. "" stands for the formats of the language."""
    token = _region.set(country)
    try:
        yield
    finally:
        _region.reset(token)


def format_locale() -> str:
    """Return the name of the locale for dates and numbers, such as `en_GB`, or "" for the formats of the language."""
    return _locale_of((get_language() or "").partition("-")[0], _region.get())


@cache
def _locale_of(language: str, country: str) -> str:
    # Other languages are written in their own way in all countries.
    if not country or language != "en" or country == COUNTRIES_OF_LANGUAGES[language]:
        return ""
    try:
        return str(Locale(language, country))
    except UnknownLocaleError:
        # International English.
        return "en_001"


def first_weekday() -> int:
    """Return the first day of the week for the reader of the current page. 0 is Monday."""
    return first_weekday_of(_region.get())


@cache
def first_weekday_of(country: str) -> int:
    """Return the first day of the week in a country, or Monday if it is unknown."""
    for language in ("en", *get_territory_language_info(country)):
        with suppress(UnknownLocaleError, ValueError):
            return Locale.parse(f"{language}_{country}").first_week_day
    return MONDAY


def first_of_week(day: date, weekday: int) -> date:
    """Return the first day of the week of a day, if weeks begin on a day of the week."""
    return day - timedelta(days=(day.weekday() - weekday) % 7)
