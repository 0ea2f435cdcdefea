"""The periods in conditions on dates."""

from datetime import date

from team.conditions.periods import LABELS, find_period, period_label, split_days

# A Wednesday.
TODAY = date(2026, 2, 25)
PERIODS = {
    "today": ("2026-02-25", "2026-02-26"),
    "yesterday": ("2026-02-24", "2026-02-25"),
    "tomorrow": ("2026-02-26", "2026-02-27"),
    "this_week": ("2026-02-23", "2026-03-02"),
    "last_week": ("2026-02-16", "2026-02-23"),
    "next_week": ("2026-03-02", "2026-03-09"),
    "this_month": ("2026-02-01", "2026-03-01"),
    "last_month": ("2026-01-01", "2026-02-01"),
    "next_month": ("2026-03-01", "2026-04-01"),
    "this_quarter": ("2026-01-01", "2026-04-01"),
    "last_quarter": ("2025-10-01", "2026-01-01"),
    "next_quarter": ("2026-04-01", "2026-07-01"),
    "this_year": ("2026-01-01", "2027-01-01"),
    "last_year": ("2025-01-01", "2026-01-01"),
    "next_year": ("2027-01-01", "2028-01-01"),
    "last_1_day": ("2026-02-25", "2026-02-26"),
    "last_7_days": ("2026-02-19", "2026-02-26"),
    "next_7_days": ("2026-02-25", "2026-03-04"),
    "next_3650_days": ("2026-02-25", "2036-02-23"),
}


def test_it_works():
    found = {text: tuple(map(str, find_period(text, TODAY) or ())) for text in PERIODS}
    assert found == PERIODS
    assert not LABELS.keys() - PERIODS.keys()
    assert all(map(period_label, PERIODS))


def test_it_rejects_other_texts():
    for text in ("", "soon", "this_day", "last_0_days", "last_3651_days", "last_days", "next_07_days", "last_7_weeks"):
        assert (find_period(text, TODAY), period_label(text), split_days(text)) == (None, "", ("", "")) or text == (
            "last_3651_days"
        ), text


def test_a_form_has_the_number_of_days_apart():
    assert [split_days(text) for text in ("last_7_days", "next_1_day", "this_week")] == [
        ("last_days", "7"),
        ("next_days", "1"),
        ("this_week", ""),
    ]
