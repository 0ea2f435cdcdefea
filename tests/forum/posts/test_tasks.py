"""`completed_at` and the deal of a task, and tasks that repeat."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from forum.posts.models import Post
from forum.posts.tasks import next_time
from tests.support.assertions import assert_refused, on_the_wire, read
from tests.support.factories import make_category, make_deal, make_post, make_task
from tests.support.tables import table


def stored(post: Post):
    return Post.objects.values_list("completed_at", flat=True).get(pk=post.pk)


def test_it_works(acme):
    before = timezone.now()
    task = make_task(acme.alice)
    assert stored(task) is None
    for body, is_closed in (({"closed": True}, True), ({"closed": False}, False), ({"status": "completed"}, True)):
        response = read(acme.json().put(f"/app/posts/{task.id}.json", json={"post": body}))
        completed_at = stored(task)
        assert response["completed_at"] == (on_the_wire(completed_at) if is_closed else None)
        assert not is_closed or before < completed_at < timezone.now()


def test_a_closed_task_keeps_its_time(acme):
    task = make_task(acme.alice, closed=True)
    first = stored(task)
    task.write({"closed": True, "title": "Other"}, by=acme.alice)
    assert stored(task) == first is not None
    # A suggestion has none.
    assert stored(make_post(acme.alice, closed=True)) is None


def test_the_database_refuses_other_writers(acme):
    """They would close a task without its time, or open it with one."""
    task, done = make_task(acme.alice), make_task(acme.alice, closed=True)
    for row in (task, done):
        with pytest.raises(IntegrityError, match="completion_of_task"), transaction.atomic():
            Post.objects.filter(pk=row.pk).update(closed=not row.closed)
    Post.objects.filter(pk=task.pk).update(closed=True, completed_at=done.completed_at)


def test_it_cannot_be_written(acme):
    task = make_task(acme.alice)
    response = acme.json().put(f"/app/posts/{task.id}.json", json={"post": {"completed_at": "2009-01-26T18:06:53Z"}})
    assert response.headers["X-Ignored-Fields"] == "completed_at"
    assert stored(task) is None


def test_the_task_of_a_deal_in_the_trash(acme):
    deal = make_deal(acme.alice)
    task = make_task(acme.alice, deal_id=deal.id, scheduled_at=datetime(2026, 11, 20, tzinfo=UTC))
    deal.trash(by=acme.alice)
    assert Post.objects.values_list("deal_id", "trashed_deal_id").get(pk=task.pk) == (None, deal.id)
    # A request may name a deal in the trash.
    response = acme.json().post(
        "/app/posts.json", json={"post": {"title": "Next", "task_kind": "task", "deal_id": deal.id}}
    )
    assert (read(response)["deal_id"], response.headers["X-Pending-Links"]) == (None, "deal_id")
    deal.restore()
    assert set(acme.account.posts.values_list("deal_id", "trashed_deal_id")) == {(deal.id, None)}
    deal.delete()
    assert set(acme.account.posts.values_list("deal_id", "trashed_deal_id")) == {(None, None)}


def test_the_next_task_of_a_series(acme):
    """It is created when a task is done, by JSON and on pages, and moves the reminder and the day. Only the next one repeats then."""
    json = acme.json()
    at = (timezone.now() + timedelta(days=1)).replace(microsecond=0)
    values = {"title": "Call", "task_kind": "phone", "repeat_unit": "week", "tags": ["vip"]}
    values |= {"scheduled_at": at.isoformat(), "remind_at": (at - timedelta(hours=1)).isoformat()}
    created = json.post("/app/posts.json", json={"post": {**values, "repeat_every": 2}}).json()
    assert (created["repeat_unit"], created["repeat_every"]) == ("week", 2)
    for _ in range(2):
        json.put(f"/app/posts/{created['id']}.json", json={"post": {"closed": True}})
    done, following = Post.objects.order_by("id")
    assert (done.closed, done.repeat_unit, done.repeat_every) == (True, None, None)
    assert (following.closed, following.repeat_unit, following.repeat_every, following.tags) == (
        False,
        "week",
        2,
        ["vip"],
    )
    assert following.scheduled_at == at + timedelta(weeks=2)
    assert following.remind_at == at + timedelta(weeks=2, hours=-1)
    assert (following.title, following.task_kind) == ("Call", "phone")


@table(
    ("at", "unit", "every", "after", "expected"),
    [
        ("2026-03-27 09:00", "day", 1, "2026-03-27 09:00", "2026-03-28 09:00"),
        ("2026-03-27 09:00", "day", 2, "2026-03-28 12:00", "2026-03-29 09:00"),
        ("2026-03-20 09:00", "week", 1, "2026-03-30 12:00", "2026-04-03 09:00"),
        ("2026-01-31 09:00", "month", 1, "2026-01-31 09:00", "2026-02-28 09:00"),
        ("2026-02-28 09:00", "month", 1, "2026-03-01 09:00", "2026-03-28 09:00"),
        ("2026-01-30 09:00", "month", 3, "2026-09-01 09:00", "2026-10-30 09:00"),
        ("9999-12-31 09:00", "month", 1, "9999-12-31 09:00", None),
    ],
)
def test_the_time_of_the_next_task(at, unit, every, after, expected):
    """The time of day stays in the zone of the account, across a change of its clocks (29 March 2026). Missed times are skipped."""
    zone = ZoneInfo("Europe/Warsaw")
    at, after = (datetime.fromisoformat(text).replace(tzinfo=zone) for text in (at, after))
    found = next_time(at, unit, every, at.day, after=after, zone=zone)
    assert (found and f"{found.astimezone(zone):%Y-%m-%d %H:%M}") == expected


def test_a_monthly_series_keeps_its_day(acme):
    """Unless somebody plans a task of the series for another day."""
    json = acme.json()
    make_task(acme.bob, "Invoice", scheduled_at=datetime(2027, 1, 30, 9, tzinfo=UTC), repeat_unit="month")

    def complete() -> str:
        json.put(f"/app/posts/{acme.account.posts.get(closed=False).id}.json", json={"post": {"closed": True}})
        return f"{acme.account.posts.get(closed=False).scheduled_at:%m-%d}"

    assert [complete(), complete()] == ["02-28", "03-30"]
    path = f"/app/posts/{acme.account.posts.get(closed=False).id}.json"
    json.put(path, json={"post": {"scheduled_at": "2027-04-30T15:00:00Z", "title": "Invoices"}})
    assert complete() == "05-30"
    path = f"/app/posts/{acme.account.posts.get(closed=False).id}.json"
    json.put(path, json={"post": {"scheduled_at": "2027-05-15T15:00:00Z"}})
    assert complete() == "06-15"


def test_it_rejects_what_cannot_repeat(acme):
    json, path = acme.json(), "/app/posts.json"
    at = timezone.now().isoformat()
    make_category(acme.account)
    for values, errors in (
        ({"task_kind": "task", "repeat_unit": "day"}, {"scheduled_at": ["can't be blank for a task that repeats"]}),
        ({"repeat_unit": "day", "scheduled_at": at}, {"repeat_unit": ["can't be given for a post of a forum"]}),
        (
            {"task_kind": "task", "repeat_unit": "year", "repeat_every": 0},
            {"repeat_unit": ["is not one of day, week, month"], "repeat_every": ["must be between 1 and 365"]},
        ),
    ):
        refused = json.post(path, json={"post": {"title": "a", **values}})
        assert_refused(refused, 422, "validation_failed", errors)
