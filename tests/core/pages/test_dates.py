"""Dates and times as people read them: in their language and their time zone."""

from datetime import UTC, date, datetime

from django.utils.timezone import override as in_zone
from django.utils.translation import override

from core.pages.formatting import date_text, time_text
from tests.support.tables import table

MOMENT = datetime(2026, 11, 5, 23, 30, 59, tzinfo=UTC)


@table(
    ("language", "zone", "text"),
    [
        ("en", "UTC", "Nov. 5, 2026, 11:30 p.m."),
        ("en", "Europe/Warsaw", "Nov. 6, 2026, 12:30 a.m."),
        ("pl", "Europe/Warsaw", "6 listopada 2026 00:30"),
    ],
)
def test_times(language, zone, text):
    with override(language), in_zone(zone):
        assert time_text(MOMENT) == text


def test_the_hour_that_is_repeated():
    """Both times at which the clock shows 2:30 have the same text."""
    with override("en"), in_zone("Europe/Warsaw"):
        texts = {time_text(datetime(2026, 10, 25, hour, 30, tzinfo=UTC)) for hour in (0, 1)}
    assert texts == {"Oct. 25, 2026, 2:30 a.m."}


@table(("language", "text"), [("en", "Nov. 5, 2026"), ("pl", "5 listopada 2026")])
def test_dates(language, text):
    with override(language):
        assert date_text(date(2026, 11, 5)) == text
