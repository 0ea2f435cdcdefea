"""The pages of tasks: the list by time, the actions on a task, and its comments. `test_task_forms.py` has the form."""

from datetime import date, datetime, time, timedelta

import pytest
from django.utils import timezone

from forum.posts.models import Post
from tests.support.factories import make_client, make_deal, make_post, make_task
from tests.support.reading import statements
from tests.support.team import messages_of, went_to

TASKS = "/app/tasks"


def on_day(days: int, hour: int = 12) -> datetime:
    """Return the current time plus a number of days, in the time zone of the account, which is UTC."""
    return timezone.make_aware(datetime.combine(timezone.localdate() + timedelta(days=days), time(hour)))


def make_mine(acme, title: str, days: int | None = None, **fields) -> Post:
    at = None if days is None else on_day(days)
    return make_task(acme.bob, title, **{"responsible_id": acme.bob.id, "scheduled_at": at} | fields)


def groups(page) -> dict[str, list[str]]:
    return {
        section.h2.get_text(strip=True): [heading.get_text(strip=True) for heading in section.select("[data-row] h3")]
        for section in page.html.select("section.tasks")
    }


def press(page, title: str, action: str, **values):
    """Submit the form of a task that has the action."""
    row = next(row for row in page.html.select("[data-row]") if row.h3.get_text(strip=True) == title)
    data = {
        "csrfmiddlewaretoken": row.select_one("[name=csrfmiddlewaretoken]")["value"],
        "id": row.select_one("[name=id]")["value"],
        "do": action,
        **values,
    }
    return page.test_app.post(page.request.url, data, status=303)


def test_it_works(acme):
    for title, days in (("Late", -3), ("Now", 0), ("Far", 30), ("Some day", None)):
        make_mine(acme, title, days)
    make_mine(acme, "Done", 0, closed=True)
    make_task(acme.alice, "Of Alice", responsible_id=acme.alice.id, scheduled_at=on_day(0))
    make_post(acme.carol, "Suggestion", responsible_id=acme.bob.id)
    bob = acme.page(acme.bob)
    page = bob.get("/app/roadmap").click("Tasks", index=0)
    assert page.request.path == TASKS
    assert groups(page) == {"Overdue": ["Late"], "Today": ["Now"], "Later": ["Far"], "Without a date": ["Some day"]}
    assert page.html.select_one(".top nav [aria-current] .number").get_text() == "2"
    assert groups(bob.get(f"{TASKS}?who=all"))["Today"] == ["Now", "Of Alice"]
    assert groups(bob.get(f"{TASKS}?who={acme.alice.id}")) == {"Today": ["Of Alice"]}
    assert groups(bob.get(f"{TASKS}?group=done")) == {"Done": ["Done"]}
    assert groups(acme.page(acme.alice).get(TASKS)) == {"Today": ["Of Alice"]}


def test_a_group_is_cut(acme):
    bob = acme.page(acme.bob)
    for query in ("who=x", "who=999999", "group=odd", "page=0"):
        bob.get(f"{TASKS}?{query}", status=404)
    client = make_client(acme.bob)
    make_mine(acme, "Task 00", -20)
    before = len(statements(bob, TASKS))
    for number in range(1, 17):
        make_mine(acme, f"Task {number:02}", -20 + number, client_id=client.id)
    assert len(statements(bob, TASKS)) == before == 6
    page = bob.get(TASKS)
    assert len(groups(page)["Overdue"]) == 15
    assert groups(page.click("More: Overdue"))["Overdue"] == [f"Task {number:02}" for number in range(17)]


def test_ticking_and_its_undo(acme):
    client, deal = make_client(acme.bob, "Nova"), make_deal(acme.bob, "Licences")
    task = make_mine(acme, "Call Nova", 0, client_id=client.id, deal_id=deal.id, task_kind="phone")
    bob = acme.page(acme.bob)
    page = press(bob.get(TASKS), "Call Nova", "complete").follow()
    assert "“Call Nova” is done." in page.html.select_one(".ticked").get_text(" ", strip=True)
    task.refresh_from_db()
    assert (task.closed, task.completed_at is not None) == (True, True)
    following = page.click("In a week").forms["task"]
    assert (following["title"].value, following["task_kind"].value) == ("Call Nova", "phone")
    assert following["day"].value == str(timezone.localdate() + timedelta(days=7))
    following.submit("do", value="save", status=303)
    copy = acme.account.posts.exclude(id=task.id).get()
    assert (copy.client_id, copy.deal_id, copy.closed) == (client.id, deal.id, False)
    # The order of the buttons in the notice does not matter: the form is found by its action.
    undone = next(form for form in page.forms.values() if form.method == "post" and "reopen" in form.text)
    undone.submit("do", value="reopen", status=303)
    task.refresh_from_db()
    assert (task.closed, task.completed_at) == (False, None)


def test_ticking_twice_and_a_deleted_task(acme):
    task = make_mine(acme, "Call", 0)
    bob = acme.page(acme.bob)
    page = bob.get(TASKS)
    press(page, "Call", "complete")
    completed_at = Post.objects.get(pk=task.pk).completed_at
    press(page, "Call", "complete")
    assert Post.objects.get(pk=task.pk).completed_at == completed_at
    task.trash(by=acme.alice)
    after = press(page, "Call", "complete").follow()
    assert messages_of(after) == ["The task was deleted in the meantime, or you may not see it."]


@pytest.mark.parametrize("hour", [None, 15])
def test_postponing(acme, hour):
    task = make_mine(acme, "Call", -2, **({"scheduled_at": None} if hour is None else {"scheduled_at": on_day(-2, 15)}))
    bob = acme.page(acme.bob)
    page = bob.get(TASKS)
    today = timezone.localdate()
    for values, day in (
        ({"until": "tomorrow"}, today + timedelta(days=1)),
        ({"until": "week"}, today + timedelta(days=7 - today.weekday())),
        ({"until": "day", "day": "2031-02-03"}, date(2031, 2, 3)),
    ):
        press(page, "Call", "snooze", **values)
        task.refresh_from_db()
        assert timezone.localtime(task.scheduled_at) == timezone.make_aware(
            datetime.combine(day, time(hour or 9)), timezone.get_current_timezone()
        )
    response = press(page, "Call", "snooze", until="day", day="31.31.").follow()
    assert messages_of(response)[-1:] == ["Choose a day to which the task is moved."]


def test_postponing_keeps_the_distance_of_the_reminder(acme):
    task = make_mine(acme, "Call", 0, remind_at=on_day(0, 11))
    press(acme.page(acme.bob).get(TASKS), "Call", "snooze", until="tomorrow")
    task.refresh_from_db()
    assert (task.scheduled_at, task.remind_at) == (on_day(1), on_day(1, 11))


def test_comments_and_the_trash(acme):
    task = make_mine(acme, "Call", 0)
    bob = acme.page(acme.bob)
    page = bob.get(f"{TASKS}/{task.id}")
    empty = page.forms["new-comment"].submit("do", value="comment", status=422)
    assert empty.html.find(id="comment_error").get_text() == "Can't be blank"
    form = page.forms["new-comment"]
    form["comment"] = "They **call back**"
    page = form.submit("do", value="comment", status=303).follow()
    comment = acme.account.comments.get()
    assert page.html.select_one(f"#comment-{comment.id} .prose b, #comment-{comment.id} .prose strong") is not None

    def form_that(do: str):
        return next(form for form in page.forms.values() if "do" in form.fields and form["do"].value == do)

    form_that("erase").submit(status=303)
    assert not acme.account.comments.exists()
    assert went_to(form_that("trash").submit(status=303), TASKS)[-1] == "The task is in the trash."
    for id in (task.id, make_post(acme.carol).id, 10**15):
        for path in (f"{TASKS}/{id}", f"{TASKS}/{id}/edit"):
            bob.get(path, status=404)
