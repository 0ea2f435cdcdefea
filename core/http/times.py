"""Times and dates in the formats that the APIs accept."""

import re
from datetime import UTC, date, datetime
from datetime import time as time_of_day
from decimal import Decimal
from email.utils import parsedate_to_datetime
from zoneinfo import ZoneInfo

from django.utils.dateparse import parse_date, parse_datetime

# With dots or hyphens, the day comes first; with slashes, the year. 01/12/2026 is ambiguous, so it is invalid.
_DAY_FIRST = re.compile(r"(\d{1,2})([.-])(\d{1,2})\2(\d{4})", re.ASCII)
_YEAR_FIRST = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})", re.ASCII)
# A date in one of these formats and a time of day, which may have an offset.
_DATE_AND_TIME = re.compile(
    r"([\d./-]{8,10})(?:[Tt]|,? +)(\d{1,2}):(\d\d(?::\d\d(?:\.\d{1,6})?)?)( ?(?:[Zz]|[+-]\d\d(?::?\d\d)?))?", re.ASCII
)
# RFC 2822, section 3.3, with the zones of section 4.3 that have a meaning.
_RFC_2822 = re.compile(
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), ?)?\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d\d:\d\d(?::\d\d)?"
    r" (?:[+-]\d{4}|UT|UTC|GMT|Z|EST|EDT|CST|CDT|MST|MDT|PST|PDT)(?: \([^()]*\))?",
    re.ASCII | re.IGNORECASE,
)
# Seconds since 1970 with nine or ten digits: the years 1973 to 2286. Other numbers are more likely years, dates or milliseconds.
_UNIX_TIME = re.compile(r"\d{9,10}(?:\.\d+)?", re.ASCII)


def to_date(text: str) -> date | None:
    """Return the date of a text: ISO 8601, `2026/12/01`, `01.12.2026` or `01-12-2026`. Return None for another format.

    Raise ValueError for a date that does not exist.
    """
    if match := _DAY_FIRST.fullmatch(text):
        return date(int(match[4]), int(match[3]), int(match[1]))
    if match := _YEAR_FIRST.fullmatch(text):
        return date(int(match[1]), int(match[2]), int(match[3]))
    return parse_date(text)


def date_of_text(data: object) -> date | None:
    """Return the date of a text that has no time of day, or None for any other data."""
    try:
        return to_date(data.strip()) if isinstance(data, str) and data.isascii() else None
    except ValueError:
        return None


def to_time(data: object, zone: ZoneInfo) -> datetime | None:
    """Return the time of a text or a number, or None for another format or a time that does not exist.

    A text is ISO 8601, RFC 2822, a date of `to_date`, or such a date and a time of day. A number, also as a text, is Unix time. Without an
    offset, the time is in `zone`, and a date is its first moment.
    """
    if isinstance(data, bool) or not isinstance(data, str | int | Decimal):
        return None
    text = str(data).strip()
    try:
        day = date_of_text(data)
        moment = _parse(text) if day is None else datetime.combine(day, time_of_day())
        if moment is None:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
        # A time in the gap of summer time does not exist: in UTC it is the same time as after it was stored.
        moment = moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    # In the first and the last year of Python's calendar, the time could be out of range in another time zone.
    return moment if 1 < moment.year < 9999 else None


def to_day(data: object, zone: ZoneInfo) -> date | None:
    """Return the date of a text or a number: a date of `to_date`, or the date of a time of `to_time`, as it is written.

    Unix time has the date in `zone`.
    """
    if isinstance(data, bool) or not isinstance(data, str | int | Decimal):
        return None
    text = str(data).strip()
    try:
        moment = _parse(text)
        if moment is None:
            return date_of_text(data)
        return (moment.astimezone(zone) if _UNIX_TIME.fullmatch(text) else moment).date()
    except (ValueError, OverflowError):
        return None


def _parse(text: str) -> datetime | None:
    if not text.isascii():
        return None
    if _UNIX_TIME.fullmatch(text):
        whole, _point, fraction = text.partition(".")
        return datetime.fromtimestamp(int(whole), UTC).replace(microsecond=int(f"{fraction:0<6}"[:6]))
    if _RFC_2822.fullmatch(text):
        moment = parsedate_to_datetime(text)
        # `-0000` is UTC without the zone of the sender (RFC 2822, section 3.3).
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if (match := _DATE_AND_TIME.fullmatch(text)) and (day := to_date(match[1])) is not None:
        text = f"{day.isoformat()}T{int(match[2]):02}:{match[3]}{(match[4] or '').strip().upper()}"
    return parse_datetime(text) if not text.isdecimal() else None
