"""The pages of a note: read, edit, trash, restore, and the completion of mentions."""

import pytest

from tests.support.factories import make_client, make_note, make_user
from tests.support.queries import capture_queries
from tests.support.team import main_text


@pytest.fixture
def note(acme):
    client = make_client(acme.alice, "Northwind")
    return make_note(acme.bob, "Before", client_id=client.id, kind="call", duration=5)


def path_of(note) -> str:
    return f"/app/notes/{note.id}"


def test_it_works(acme, note):
    visitor = acme.page(acme.bob)
    visitor.get(path_of(note))
    page, queries = capture_queries(lambda: visitor.get(path_of(note)))
    # The session, the forum, the numbers of new suggestions and of due tasks, the note.
    assert len(queries) == 4, queries
    assert "Before" in main_text(page)
    assert page.html.select_one(".trail a")["href"] == f"/app/clients/{note.client_id}"
    form = page.click("Edit", index=0).forms["note"]
    assert (form["kind"].value, form["duration"].value) == ("call", "5")
    form["content"], form["kind"] = "After @alice", "meeting"
    page = form.submit(status=303).follow()
    note.refresh_from_db()
    assert (note.content, note.kind, note.duration) == ("After @alice", "meeting", 5)
    assert note.mentioned_user_ids == [acme.alice.id]
    assert "The note is saved." in main_text(page)


def test_an_edit_keeps_the_time(acme, note):
    before = note.noted_at
    form = acme.page(acme.bob).get(f"{path_of(note)}/edit").forms["note"]
    form["noted_at"], form["content"] = "", " "
    page = form.submit(status=422)
    assert page.html.select_one("#note-content_error").get_text().strip() == "Can't be blank"
    form["content"] = "After"
    form.submit(status=303)
    note.refresh_from_db()
    assert (note.noted_at, note.content) == (before, "After")


def test_the_second_of_two_editors_is_warned(acme, note):
    first, second = (acme.page(user).get(f"{path_of(note)}/edit").forms["note"] for user in (acme.bob, acme.alice))
    first["content"], second["content"] = "First", "Second"
    first.submit(status=303)
    page = second.submit(status=422)
    assert "Somebody changed this note in the meantime." in main_text(page)
    note.refresh_from_db()
    assert note.content == "First"
    page.forms["note"].submit(status=303)
    note.refresh_from_db()
    assert note.content == "Second"


def test_the_author_trashes_and_restores_a_note(acme, note):
    page = acme.page(acme.bob).get(path_of(note))
    [form] = [form for form in page.forms.values() if form.action == path_of(note)]
    page = form.submit(status=303).follow()
    assert "This note is in the trash." in main_text(page)
    note.refresh_from_db()
    assert note.trashed_by_id == acme.bob.id
    page = page.forms["restore"].submit("do", value="restore", status=303).follow()
    assert "Before" in main_text(page)
    note.refresh_from_db()
    assert note.trashed_at is None


def test_only_the_author_and_admins_change_a_note(acme, note):
    make_user(acme.account, "dora", role="agent")
    dora = acme.account.users.get(login="dora")
    page = acme.page(dora).get(path_of(note))
    assert "Edit" not in main_text(page)
    acme.page(dora).get(f"{path_of(note)}/edit", status=403)
    token = page.html.find("input", {"name": "csrfmiddlewaretoken"})["value"]
    for act in ("trash", "restore"):
        acme.page(dora).post(path_of(note), {"do": act, "csrfmiddlewaretoken": token}, status=403)
    note.refresh_from_db()
    assert note.trashed_at is None
    assert "Edit" in main_text(acme.page(acme.alice).get(path_of(note)))


def test_notes_of_hidden_clients_are_not_found(acme, note):
    acme.account.change(agents_see="own")
    for path in (path_of(note), f"{path_of(note)}/edit"):
        acme.page(acme.bob).get(path, status=404)


def test_mentions_are_completed_to_users_of_the_team(acme):
    make_user(acme.account, "alina", role="member")
    found = acme.page(acme.bob).get("/app/mentions?q=al").json
    assert found == [{"login": "alice", "name": "alice"}]
    assert acme.page(acme.bob).get("/app/mentions?q=bob").json == []
