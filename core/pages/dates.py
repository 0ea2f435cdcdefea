"""Dates and times as people read them, in the format of the active language.

Formatting one takes 70 µs, and pages repeat them, so the texts are kept.
"""

from datetime import date, datetime
from functools import lru_cache

from django.utils import formats, timezone
from django.utils.translation import get_language


def date_text(day: date, kind: str = "DATE_FORMAT") -> str:
    """Return a date in one of the formats of Django's languages."""
    return _text(day, kind, get_language())


def time_text(moment: datetime, kind: str = "DATETIME_FORMAT") -> str:
    """Return a time in the active time zone, to the minute, in one of the formats of Django's languages."""
    # Without its time zone: the same moment in two time zones is equal, but has two texts.
    local = timezone.localtime(moment).replace(second=0, microsecond=0, tzinfo=None)
    return _text(local, kind, get_language())


@lru_cache(maxsize=5_000)
def _text(day: date, kind: str, language: str | None) -> str:
    return formats.date_format(day, kind)
