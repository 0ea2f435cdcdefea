"""The form of a new task and of an existing one."""

from datetime import UTC, datetime

from tests.support.factories import make_client, make_contact, make_task

TASKS = "/app/tasks"


def test_it_works(acme):
    client = make_client(acme.bob, "Nova")
    contact = make_contact(acme.bob, "Nora", client_id=client.id)
    bob = acme.page(acme.bob)
    form = bob.get(f"{TASKS}/new?title=Call&day=2031-02-03").forms["task"]
    assert form["responsible_id"].value == str(acme.bob.id)
    form["time"], form["reminder"], form["priority"] = "10:30", "60", "1"
    # Without JavaScript, a button searches.
    form["q"] = "Nora"
    found = form.submit("do", value="find").forms["task"]
    assert found["title"].value == "Call"
    found["link"] = f"contact:{contact.id}"
    page = found.submit("do", value="save", status=303).follow()
    task = acme.account.posts.get()
    assert page.request.path == f"{TASKS}/{task.id}"
    expected = {
        "title": "Call",
        "task_kind": "task",
        "client_id": client.id,
        "contact_id": contact.id,
        "deal_id": None,
        "responsible_id": acme.bob.id,
        "priority": 1,
        "scheduled_at": datetime(2031, 2, 3, 10, 30, tzinfo=UTC),
        "remind_at": datetime(2031, 2, 3, 9, 30, tzinfo=UTC),
        "user_id": acme.bob.id,
    }
    assert {name: getattr(task, name) for name in expected} == expected
    # A double click creates one task.
    found.submit("do", value="save", status=303)
    assert acme.account.posts.count() == 1


def test_it_rejects_invalid_tasks(acme):
    bob = acme.page(acme.bob)
    for fields, name, error in (
        ({"title": " "}, "title", "Can't be blank"),
        ({"time": "10:00"}, "day", "Can't be blank when there is a time"),
        ({"reminder": "15"}, "day", "Can't be blank when there is a reminder before it"),
        ({"reminder": "other"}, "remind_at", "Can't be blank"),
        ({"day": "0012-01-01"}, "day", "Is too far from today"),
    ):
        form = bob.get(f"{TASKS}/new?title=Call").forms["task"]
        for field, value in fields.items():
            form[field] = value
        page = form.submit("do", value="save", status=422)
        assert page.html.find(id=f"task-{name}_error").get_text(strip=True) == error
    assert not acme.account.posts.exists()


def test_it_rejects_rows_of_other_accounts_and_of_the_trash(acme, other):
    trashed = make_client(acme.bob)
    trashed.trash(by=acme.bob)
    for client in (make_client(other.mallory), trashed):
        bob = acme.page(acme.bob)
        form = bob.get(f"{TASKS}/new?title=Call&client_id={client.id}").forms["task"]
        assert "client_id" not in form.fields
        page = bob.post(
            f"{TASKS}/new",
            {**dict(form.submit_fields()), "do": "save", "link": f"client:{client.id}"},
            status=422,
        )
        assert "was deleted in the meantime" in page.html.select_one("form .notice, form [role=alert]").get_text()
    assert not acme.account.posts.exists()


def test_editing_and_a_simultaneous_change(acme):
    client = make_client(acme.bob, "Nova")
    at = datetime(2031, 2, 3, 10, 30, tzinfo=UTC)
    task = make_task(acme.bob, "Call", client_id=client.id, priority=7, scheduled_at=at, responsible_id=acme.bob.id)
    bob = acme.page(acme.bob)
    form = bob.get(f"{TASKS}/{task.id}").click("Edit", index=0).forms["task"]
    task.write({"title": "Call Anna"}, by=acme.alice)
    form["title"] = "Write"
    refused = form.submit("do", value="save", status=422)
    assert "Somebody changed this task in the meantime" in refused.html.select_one("#task").get_text()
    task.refresh_from_db()
    assert task.title == "Call Anna"
    assert refused.forms["task"]["title"].value == "Write"
    refused.forms["task"].submit("do", value="save", status=303)
    task.refresh_from_db()
    assert (task.title, task.client_id, task.scheduled_at) == ("Write", client.id, at)
