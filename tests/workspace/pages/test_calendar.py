"""The calendar of tasks, and its private feed."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from tests.support.factories import make_task
from tests.support.pages import Visitor
from workspace.icalendar import escape, fold
from workspace.models import CalendarFeed

CALENDAR = "/app/tasks/calendar"


def cells(page) -> dict[str, list[str]]:
    return {
        cell.select_one("time")["datetime"]: [link.bdi.get_text() for link in cell.select("li a")]
        for cell in page.html.select(".calendar td")
        if cell.select("li")
    }


def make_mine(acme, title, at, **fields):
    return make_task(acme.bob, title, **{"responsible_id": acme.bob.id, "scheduled_at": at} | fields)


def test_it_works(acme):
    for number in range(5):
        make_mine(acme, f"Call {number}", datetime(2026, 11, 5, 10 + number, tzinfo=UTC))
    make_mine(acme, "Closed", datetime(2026, 11, 6, tzinfo=UTC), closed=True)
    make_mine(acme, "Before", datetime(2026, 10, 26, tzinfo=UTC))
    make_task(acme.alice, "Of Alice", responsible_id=acme.alice.id, scheduled_at=datetime(2026, 11, 7, tzinfo=UTC))
    bob = acme.page(acme.bob)
    page = bob.get(f"{CALENDAR}?month=2026-11")
    assert page.html.h1.get_text() == "November 2026"
    assert cells(page) == {"2026-10-26": ["Before"], "2026-11-05": [f"Call {number}" for number in range(5)]}
    assert page.html.select_one("td summary").get_text(strip=True) == "+2 more"
    assert "2026-11-07" in cells(bob.get(f"{CALENDAR}?month=2026-11&who=all"))
    assert page.click("Next").html.h1.get_text() == "December 2026"
    assert page.click("Previous").html.h1.get_text() == "October 2026"


def test_days_are_those_of_the_reader(acme):
    make_mine(acme, "Late", datetime(2026, 11, 5, 23, 30, tzinfo=UTC))
    acme.bob.time_zone = "Europe/Warsaw"
    acme.bob.save()
    assert cells(acme.page(acme.bob).get(f"{CALENDAR}?month=2026-11")) == {"2026-11-06": ["Late"]}


@pytest.mark.parametrize("month", ["2026-13", "x", "0001-01", "9999-12"])
def test_it_rejects_other_months(acme, month):
    acme.page(acme.bob).get(f"{CALENDAR}?month={month}", status=404)


def create_feed(acme) -> str:
    form = next(form for form in acme.page(acme.bob).get(CALENDAR).forms.values() if "create_feed" in form.text)
    return form.submit("do", value="create_feed").html.find(id="feed-url")["value"]


def test_the_feed(acme):
    at = timezone.now().replace(microsecond=0) + timedelta(days=1)
    task = make_mine(acme, "Call; now, please", at, content="First\nsecond")
    make_mine(acme, "Closed", at, closed=True)
    make_task(acme.alice, "Of Alice", responsible_id=acme.alice.id, scheduled_at=at)
    url = create_feed(acme)
    path = url.partition(acme.host)[2]
    assert bytes(CalendarFeed.objects.get().digest).hex() not in url
    response = acme.page().get(path)
    assert response.headers["Content-Type"] == "text/calendar; charset=utf-8"
    lines = response.text.replace("\r\n ", "").split("\r\n")
    updated = f"{task.updated_at.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    assert lines == [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Rostrum//Tasks//EN",
        "CALSCALE:GREGORIAN",
        "X-WR-CALNAME:Tasks",
        "REFRESH-INTERVAL;VALUE=DURATION:PT15M",
        "BEGIN:VEVENT",
        f"UID:task-{task.id}@{acme.host}",
        f"DTSTAMP:{updated}",
        f"LAST-MODIFIED:{updated}",
        f"DTSTART:{at.astimezone(UTC):%Y%m%dT%H%M%SZ}",
        "DURATION:PT30M",
        r"SUMMARY:Call\; now\, please",
        r"DESCRIPTION:First\nsecond",
        f"URL:http://{acme.host}/app/tasks/{task.id}",
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
        "END:VCALENDAR",
        "",
    ]
    etag = response.headers["ETag"]
    assert acme.page().get(path, headers={"If-None-Match": etag}, status=304).text == ""


def test_a_new_address_replaces_the_old_one(acme):
    first, second = (create_feed(acme).partition(acme.host)[2] for _ in range(2))
    acme.page().get(first, status=404)
    page = acme.page(acme.bob).get(CALENDAR)
    acme.page().get(second, status=200)
    form = next(form for form in page.forms.values() if "revoke_feed" in form.text)
    form.submit("do", value="revoke_feed", status=303)
    acme.page().get(second, status=404)


@pytest.mark.parametrize("change", [{"is_active": False}, {"role": "member"}], ids=str)
def test_the_feed_of_a_user_who_left_the_team(acme, change):
    path = create_feed(acme).partition(acme.host)[2]
    acme.account.users.filter(id=acme.bob.id).update(**change)
    acme.page().get(path, status=404)


def test_the_feed_of_another_account(acme, other):
    path = create_feed(acme).partition(acme.host)[2]
    Visitor(other.host).get(path, status=404)


def test_wrong_tokens_are_limited(acme, settings):
    settings.FAILED_LOGIN_LIMIT = 2
    for _ in range(2):
        acme.page().get("/app/tasks.ics?token=wrong", status=404)
    acme.page().get("/app/tasks.ics?token=wrong", status=429)


def test_texts_are_escaped_and_lines_folded():
    assert escape("a\\b;c,d\r\ne\x00") == "a\\\\b\\;c\\,d\\ne"
    parts = list(fold("SUMMARY:" + "ż" * 100))
    assert all(len(part.encode()) <= 75 for part in parts)
    assert parts[0] + "".join(part[1:] for part in parts[1:]) == "SUMMARY:" + "ż" * 100
    assert all(part.startswith(" ") for part in parts[1:])
