"""The formats of dates and numbers by the region of the reader."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.utils import timezone, translation

from accounts.users.preferences import set_preference
from core.http.regions import country_names, first_of_week, first_weekday_of, is_country, override_region
from core.pages.formatting import REGION_PREFERENCE, date_text, number_text, time_text
from tests.support.factories import make_task

DAY = date(2026, 11, 27)


@pytest.mark.parametrize(
    ("language", "country", "expected"),
    [
        ("en", "", ("Nov. 27, 2026", "Nov. 27, 2026, 2:05 p.m.", "November 2026", "12,345.6")),
        ("en", "US", ("Nov. 27, 2026", "Nov. 27, 2026, 2:05 p.m.", "November 2026", "12,345.6")),
        ("en", "GB", ("27 Nov 2026", "27 Nov 2026, 14:05", "November 2026", "12,345.6")),
        ("en", "DE", ("27 Nov 2026", "27 Nov 2026, 14:05", "November 2026", "12.345,6")),
        ("en", "JP", ("27 Nov 2026", "27 Nov 2026, 2:05\N{NARROW NO-BREAK SPACE}pm", "November 2026", "12,345.6")),
        ("pl", "GB", ("27 listopada 2026", "27 listopada 2026 14:05", "Listopad 2026", "12\N{NO-BREAK SPACE}345,6")),
    ],
)
def test_it_works(language, country, expected):
    moment = datetime(2026, 11, 27, 14, 5, tzinfo=UTC)
    with translation.override(language), timezone.override("UTC"), override_region(country):
        found = (
            date_text(DAY),
            time_text(moment),
            date_text(DAY, "YEAR_MONTH_FORMAT"),
            number_text(Decimal("12345.6")),
        )
    assert found == expected


def test_countries_have_names_and_a_first_day_of_the_week():
    assert (country_names("pl")["DE"], country_names("en")["DE"]) == ("Niemcy", "Germany")
    assert [is_country(code) for code in ("PL", "pl", "EU", "ZZ", "")] == [True, False, False, False, False]
    assert {code: first_weekday_of(code) for code in ("PL", "US", "JP", "EG", "")} == {
        "PL": 0,
        "US": 6,
        "JP": 6,
        "EG": 5,
        "": 0,
    }
    assert str(first_of_week(DAY, 6)) == "2026-11-22"


def test_pages_have_the_formats_of_the_user_the_account_or_the_browser(acme):
    make_task(acme.bob, "Call", responsible_id=acme.bob.id, scheduled_at=datetime(2026, 1, 5, 9, tzinfo=UTC))
    bob = acme.page(acme.bob)

    def first_day(accepted: str) -> str:
        page = bob.get("/app/tasks", headers={"Accept-Language": accepted})
        assert (" 5 Jan 2026" in page.text) != ("Jan. 5, 2026" in page.text)
        calendar = bob.get("/app/tasks/calendar", headers={"Accept-Language": accepted})
        return calendar.html.select_one(".calendar th").get_text() + (" British" if "5 Jan 2026" in page.text else "")

    assert [first_day(accepted) for accepted in ("en-US", "en-GB", "en")] == ["Sun", "Mon British", "Mon"]
    acme.account.change(country="GB")
    assert first_day("en-US") == "Mon British"
    form = bob.get("/app/profile").forms["region"]
    form["region"], form["time_zone"] = "US", "warsaw"
    form.submit(status=303)
    acme.bob.refresh_from_db()
    assert (acme.bob.preferences[REGION_PREFERENCE], acme.bob.time_zone) == ("US", "Europe/Warsaw")
    assert first_day("en-GB") == "Sun"
    set_preference(acme.bob, REGION_PREFERENCE, "")
    form["time_zone"] = "nowhere"
    assert "Is not a time zone" in form.submit(status=422).text
