"""The calendar of tasks, and its private feed."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.utils import timezone

from team.tasks.models import CalendarFeed
from team.tasks.pages.calendar import escape, fold
from tests.support.factories import make_client, make_contact, make_task
from tests.support.pages import Visitor

CALENDAR = "/app/tasks/calendar"


@dataclass
class Component:
    """A component of a calendar (RFC 5545, section 3.6)."""

    name: str
    values: dict[str, str] = field(default_factory=dict)
    children: list["Component"] = field(default_factory=list)


def parse(text: str) -> Component:
    """Return the calendar of a text. Check the lines, the nesting, and the properties that each component must have."""
    required = {
        "VCALENDAR": {"VERSION", "PRODID"},
        "VEVENT": {"UID", "DTSTAMP", "DTSTART"},
        "VALARM": {"ACTION", "TRIGGER", "DESCRIPTION"},
        "VTIMEZONE": {"TZID"},
        "STANDARD": {"DTSTART", "TZOFFSETFROM", "TZOFFSETTO"},
    }
    assert text.endswith("\r\n")
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
    root = Component("")
    path = [root]
    for line in text.replace("\r\n ", "").removesuffix("\r\n").split("\r\n"):
        name, _colon, value = line.partition(":")
        if name == "BEGIN":
            path[-1].children.append(Component(value))
            path.append(path[-1].children[-1])
        elif name == "END":
            assert value == path[-1].name
            assert required[value] <= {key.partition(";")[0] for key in path.pop().values}
        else:
            assert name not in path[-1].values
            path[-1].values[name] = re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], value)
    [calendar] = root.children
    assert path == [root]
    assert calendar.children
    return calendar


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
    make_mine(acme, "Late", datetime(2026, 11, 8, 23, 30, tzinfo=UTC))
    make_task(acme.alice, "Of Alice", responsible_id=acme.alice.id, scheduled_at=datetime(2026, 11, 7, tzinfo=UTC))
    bob = acme.page(acme.bob)
    page = bob.get(f"{CALENDAR}?month=2026-11")
    assert page.html.h1.get_text() == "November 2026"
    expected = {"2026-10-26": ["Before"], "2026-11-05": [f"Call {number}" for number in range(5)]}
    assert cells(page) == expected | {"2026-11-08": ["Late"]}
    assert page.html.select_one("td summary").get_text(strip=True) == "+2 more"
    assert "2026-11-07" in cells(bob.get(f"{CALENDAR}?month=2026-11&who=all"))
    assert page.click("Next").html.h1.get_text() == "December 2026"
    assert page.click("Previous").html.h1.get_text() == "October 2026"
    # The days are those of the reader.
    acme.account.users.filter(id=acme.bob.id).update(time_zone="Europe/Warsaw")
    assert cells(bob.get(f"{CALENDAR}?month=2026-11")) == expected | {"2026-11-09": ["Late"]}
    for month in ("2026-13", "x", "0001-01", "9999-12"):
        bob.get(f"{CALENDAR}?month={month}", status=404)


def create_feed(acme) -> str:
    form = next(form for form in acme.page(acme.bob).get(CALENDAR).forms.values() if "create_feed" in form.text)
    return form.submit("do", value="create_feed").html.find(id="feed-url")["value"]


def read_feed(acme) -> tuple[str, Component]:
    path = create_feed(acme).partition(acme.host)[2]
    text = acme.page().get(path).text
    return text, parse(text)


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
        rf"DESCRIPTION:First\nsecond\nhttp://{acme.host}/app/tasks/{task.id}",
        f"URL:http://{acme.host}/app/tasks/{task.id}",
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
        "END:VCALENDAR",
        "",
    ]
    etag = response.headers["ETag"]
    assert acme.page().get(path, headers={"If-None-Match": etag}, status=304).text == ""


def test_an_empty_feed_is_valid(acme):
    _text, calendar = read_feed(acme)
    [zone] = calendar.children
    assert (zone.name, zone.values["TZID"], [each.name for each in zone.children]) == (
        "VTIMEZONE",
        "Etc/UTC",
        ["STANDARD"],
    )


def test_a_task_without_a_time_of_day_is_an_event_of_the_day(acme):
    """The day is the same for a reader in every time zone."""
    acme.account.change(time_zone="Pacific/Auckland")
    acme.account.users.filter(id=acme.bob.id).update(time_zone="America/Los_Angeles")
    day = timezone.localdate() + timedelta(days=40)
    bob = acme.page(acme.bob)
    form = bob.get(f"/app/tasks/new?title=On+the+page&day={day}").forms["task"]
    page = form.submit("do", value="save", status=303).follow()
    assert "9 a.m." not in page.html.find("main").get_text()
    task = page.click("Edit", index=0).forms["task"]
    assert (task["day"].value, task["time"].value) == (str(day), "")
    for title, at in (("Sent", str(day)), ("At nine", f"{day} 09:00"), ("At midnight", f"{day}T00:00:00")):
        body = {"title": title, "task_kind": "task", "responsible_id": acme.bob.id, "scheduled_at": at}
        assert acme.json().post("/app/posts.json", json={"post": body}).status_code == 201
    _text, calendar = read_feed(acme)
    starts = {event.values["SUMMARY"]: event.values.get("DTSTART;VALUE=DATE") for event in calendar.children}
    date = f"{day:%Y%m%d}"
    assert starts == {"On the page": date, "Sent": date, "At nine": None, "At midnight": None}
    assert all(("DURATION" in event.values) == ("DTSTART" in event.values) for event in calendar.children)


def test_a_task_gets_and_loses_its_time_of_day(acme):
    day = timezone.localdate() + timedelta(days=3)
    path = "/app/posts/{}.json".format(make_mine(acme, "Call", timezone.now(), due_day=day).id)

    def put(**fields) -> object:
        assert acme.json().put(path, json={"post": fields}).status_code == 200
        return acme.account.posts.get().due_day

    assert put(scheduled_at=str(day)) == day
    # A client sends back what it has read.
    assert put(scheduled_at=acme.json().get(path).json()["scheduled_at"], title="Call again") == day
    assert put(scheduled_at=f"{day}T10:00") is None
    assert put(scheduled_at=str(day)) == day
    assert put(scheduled_at=None) is None


def test_a_postponed_task_keeps_that_it_has_no_time_of_day(acme):
    day, bob = timezone.localdate(), acme.page(acme.bob)
    for title, due_day, expected in (("Call", day, day + timedelta(days=1)), ("Meet", None, None)):
        task = make_mine(acme, title, timezone.now(), due_day=due_day)
        form = next(form for form in bob.get(f"/app/tasks/{task.id}").forms.values() if 'value="snooze"' in form.text)
        form.submit("until", value="tomorrow", status=303)
        task.refresh_from_db()
        assert task.due_day == expected


def test_what_a_reader_needs_on_the_way(acme):
    """Clients, contacts and their telephone numbers, in the language of the user, and reminders as alarms."""
    client = make_client(acme.bob, "Nova, Inc.", phone="+48 601 234 567")
    contact = make_contact(acme.bob, "Nora", client_id=client.id, mobile_phone="+48 500 100 200")
    at = timezone.now().replace(microsecond=0) + timedelta(days=1)
    remind_at = at - timedelta(minutes=15)
    make_mine(acme, "Call Nova", at, client_id=client.id, content="Ask about; chairs", remind_at=remind_at)
    make_mine(acme, "Call Nora", at, client_id=client.id, contact_id=contact.id)
    path = create_feed(acme).partition(acme.host)[2]
    calendar = parse(acme.page().get(path).text)
    found = {event.values["SUMMARY"]: (event.values["DESCRIPTION"], event.values["URL"]) for event in calendar.children}
    (of_nova, nova), (of_nora, nora) = found["Call Nova"], found["Call Nora"]
    assert of_nova == f"Client: Nova, Inc.\nTelephone: +48 601 234 567\nAsk about; chairs\n{nova}"
    assert of_nora == f"Client: Nova, Inc.\nContact: Nora\nTelephone: +48 500 100 200\n{nora}"
    alarms = {event.values["SUMMARY"]: [alarm.values for alarm in event.children] for event in calendar.children}
    trigger = f"{remind_at.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    alarm = {"ACTION": "DISPLAY", "DESCRIPTION": "Call Nova", "TRIGGER;VALUE=DATE-TIME": trigger}
    assert alarms == {"Call Nova": [alarm], "Call Nora": []}
    acme.account.users.filter(id=acme.bob.id).update(language="pl")
    calendar = parse(acme.page().get(path).text)
    assert calendar.values["X-WR-CALNAME"] == "Zadania"
    assert all(event.values["DESCRIPTION"].startswith("Klient: Nova, Inc.\n") for event in calendar.children)


def test_the_feed_hides_clients_that_the_user_may_not_access(acme):
    acme.account.change(agents_see="own")
    client = make_client(acme.alice, "Hidden", phone="+48 601 234 567", responsible_id=acme.alice.id)
    make_mine(acme, "Call", timezone.now(), client_id=client.id)
    text, calendar = read_feed(acme)
    assert len(calendar.children) == 1
    assert "Hidden" not in text
    assert "601" not in text


def test_a_new_address_replaces_the_old_one(acme, other, settings):
    first, second = (create_feed(acme).partition(acme.host)[2] for _ in range(2))
    acme.page().get(first, status=404)
    Visitor(other.host).get(second, status=404)
    page = acme.page(acme.bob).get(CALENDAR)
    acme.page().get(second, status=200)
    # The user leaves the team, and comes back.
    for left, back in (({"is_active": False}, {"is_active": True}), ({"role": "member"}, {"role": "agent"})):
        acme.account.users.filter(id=acme.bob.id).update(**left)
        acme.page().get(second, status=404)
        acme.account.users.filter(id=acme.bob.id).update(**back)
    acme.page().get(second, status=200)
    form = next(form for form in page.forms.values() if "revoke_feed" in form.text)
    form.submit("do", value="revoke_feed", status=303)
    acme.page().get(second, status=404)
    settings.FAILED_LOGIN_LIMIT = 2
    for status in (404, 404, 429):
        acme.page().get("/app/tasks.ics?token=wrong", status=status)


def test_texts_are_escaped_and_lines_folded():
    assert escape("a\\b;c,d\r\ne\x00") == "a\\\\b\\;c\\,d\\ne"
    parts = list(fold("SUMMARY:" + "ż" * 100))
    assert all(len(part.encode()) <= 75 for part in parts)
    assert parts[0] + "".join(part[1:] for part in parts[1:]) == "SUMMARY:" + "ż" * 100
    assert all(part.startswith(" ") for part in parts[1:])
