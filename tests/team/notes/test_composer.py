"""The form on the pages of records: notes, calls, meetings, e-mails and tasks."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from tests.support.factories import make_client, make_contact, make_deal, make_note
from tests.support.tables import table
from tests.support.team import main_text, record_path

KEYS = "%Y-%m-%dT%H:%M"


@pytest.fixture
def client(acme):
    return make_client(acme.alice, "Northwind")


def compose(visitor, path: str, *, status: int = 303, kind: str = "note", **fields):
    """Send the form with these fields, and return the response."""
    form = visitor.get(path).forms["composer"]
    for name, value in {"kind": kind, **fields}.items():
        form[name] = value
    return form.submit("do", value="compose", status=status)


def test_it_works(acme, client):
    page = compose(acme.page(acme.bob), record_path(client), content="Wants **chairs**, @alice").follow()
    [note] = acme.account.notes.all()
    assert (note.client_id, note.kind, note.content, note.creator_id) == (
        client.id,
        "note",
        "Wants **chairs**, @alice",
        acme.bob.id,
    )
    assert note.mentioned_user_ids == [acme.alice.id]
    assert "The note is saved." in main_text(page)
    [shown] = page.html.select(f"#note-{note.id}")
    assert "Bob Nowak" in shown.get_text()
    assert "<strong>chairs</strong>" in str(shown)
    assert "<b>@alice</b>" in str(page.click("Open the note").html)


@table("kind", ["call", "meeting"])
def test_a_call_and_a_meeting_have_a_time_and_a_duration(acme, client, kind):
    at = timezone.localtime().replace(microsecond=0, second=0) - timedelta(days=1)
    fields = {"content": "Agreed", "noted_at": at.strftime(KEYS), "duration": "15"}
    response = compose(acme.page(acme.bob), record_path(client), kind=kind, **fields)
    [note] = acme.account.notes.all()
    assert (note.kind, note.noted_at, note.duration) == (kind, at, 15)
    assert "15 minutes" in main_text(response.follow())


def test_fields_of_another_kind_are_ignored(acme, client):
    compose(
        acme.page(acme.bob), record_path(client), content="a", noted_at="soon", duration="-5", title="x" * 300, day="x"
    )
    [note] = acme.account.notes.all()
    assert (note.kind, note.duration) == ("note", None)
    assert not acme.account.posts.exists()


def test_it_rejects_a_value_at_its_field(acme, client):
    form = acme.page(acme.bob).get(record_path(client)).forms["composer"]
    for fields, name, message in (
        ({"kind": "note", "content": " "}, "content", "Can't be blank"),
        ({"content": "a" * 65_537}, "content", "65536"),
        ({"kind": "task", "title": ""}, "title", "Can't be blank"),
        ({"title": "a", "day": "31.02.2026"}, "day", "Enter a valid date."),
        ({"kind": "call", "content": "a", "duration": "-1"}, "duration", "greater than or equal to 0"),
        ({"duration": "", "noted_at": "2098-01-01T09:00"}, "noted_at", "Can't be in the future"),
        ({"noted_at": "1066-01-01T09:00"}, "noted_at", "Is too far from today"),
    ):
        for field, value in fields.items():
            form[field] = value
        page = form.submit("do", value="compose", status=422)
        assert message in page.html.select_one(f"#composer #note-{name}_error").get_text()
        for field, value in fields.items():
            assert page.forms["composer"][field].value.strip() == value.strip()
    assert not acme.account.notes.exists()
    assert not acme.account.posts.exists()


def test_it_rejects_an_unknown_kind(acme, client):
    form = acme.page(acme.bob).get(record_path(client)).forms["composer"]
    form["kind"].force_value("letter")
    assert "letter is not one of the available choices" in form.submit("do", value="compose", status=422)


@table("fields", [{"content": "Twice"}, {"kind": "task", "title": "Twice"}])
def test_a_double_click_creates_one(acme, client, fields):
    visitor = acme.page(acme.bob)
    form = visitor.get(record_path(client)).forms["composer"]
    for name, value in {"kind": "note", **fields}.items():
        form[name] = value
    for _ in range(2):
        form.submit("do", value="compose", status=303)
    assert acme.account.notes.count() + acme.account.posts.count() == 1
    # Another form is another entry.
    compose(visitor, record_path(client), **fields)
    assert acme.account.notes.count() + acme.account.posts.count() == 2


def test_it_rejects_a_record_in_the_trash(acme, client):
    form = acme.page(acme.bob).get(record_path(client)).forms["composer"]
    client.trash(by=acme.alice)
    form["content"] = "Late"
    form.submit("do", value="compose", status=404)


def test_the_address_selects_a_kind(acme, client):
    assert acme.page(acme.bob).get(f"{record_path(client)}?compose=call").forms["composer"]["kind"].value == "call"
    # Without a kind, the page shows nothing but the kinds.
    assert acme.page(acme.bob).get(f"{record_path(client)}?compose=x").forms["composer"]["kind"].value is None


def test_the_timeline_links_to_the_whole_text(acme, client):
    note = make_note(acme.alice, "word " * 1000 + "**end**", client_id=client.id)
    page = acme.page(acme.bob).get(record_path(client))
    assert "end" not in page.html.select_one(f"#note-{note.id} .prose").get_text().split()
    whole = page.click("Open the note")
    assert whole.request.path == f"/app/notes/{note.id}"
    assert whole.html.select_one(".prose strong").get_text() == "end"


@table(("make", "collection"), [(make_client, "clients"), (make_contact, "contacts"), (make_deal, "deals")])
def test_every_record_has_notes_and_tasks(acme, make, collection):
    row = make(acme.alice)
    visitor, path = acme.page(acme.bob), f"/app/{collection}/{row.id}"
    compose(visitor, path, kind="email", content="Sent the offer")
    page = compose(visitor, path, kind="task", title="Call back", day="2030-01-02").follow()
    column = f"{collection.removesuffix('s')}_id"
    assert list(acme.account.notes.values_list(column, "kind")) == [(row.id, "email")]
    [task] = acme.account.posts.filter(category_id=None)
    assert (getattr(task, column), task.title, task.responsible_id) == (row.id, "Call back", acme.bob.id)
    assert timezone.localtime(task.scheduled_at) == timezone.make_aware(datetime.fromisoformat("2030-01-02T09:00"))
    assert "Call back" in main_text(page)
    assert "Sent the offer" in main_text(page)
    [form] = [form for form in page.forms.values() if "task" in form.fields]
    page = form.submit("task", value=str(task.id), status=303).follow()
    task.refresh_from_db()
    assert task.closed
    assert "No task is planned." in main_text(page)


def test_a_call_with_an_outcome_and_the_task_that_follows_it(acme, client):
    day = timezone.localdate() + timedelta(days=3)
    page = acme.page(acme.bob)
    form = page.get(record_path(client)).forms["composer"]
    values = {"kind": "call", "content": "No one there", "outcome": "no_answer", "follow_up_kind": "phone"}
    for name, value in (values | {"follow_up_day": str(day), "follow_up_user": str(acme.alice.id)}).items():
        form[name] = value
    for _ in range(2):
        response = form.submit("do", value="compose", status=303)
    assert "No answer" in main_text(response.follow())
    [note], [task] = acme.account.notes.all(), acme.account.posts.all()
    assert (note.kind, note.outcome) == ("call", "no_answer")
    values = (task.title, task.task_kind, task.client_id, task.responsible_id, task.due_day)
    assert values == ("Follow up", "phone", client.id, acme.alice.id, day)
    # Another kind has no outcome, and a note can be without a task.
    compose(page, record_path(client), kind="meeting", content="Agreed", outcome="busy")
    assert acme.account.notes.get(kind="meeting").outcome is None
    assert acme.account.posts.count() == 1
    compose(page, record_path(client), status=422, content="x", follow_up="x", follow_up_day="soon")
    assert acme.account.notes.count() == 2
