from datetime import timedelta

import pytest
from django.utils import timezone

from tests.support.assertions import assert_answered, assert_refused, on_the_wire, read
from tests.support.bodies import note_body
from tests.support.factories import make_client, make_contact, make_deal, make_note, make_user
from tests.support.lists import link_to_first_page
from tests.support.tables import table

PATH = "/app/notes.json"
ONE_LINK = {"client_id": ["must be given, or else a contact_id or a deal_id, but only one of them"]}


def test_it_works(acme):
    client, json = make_client(acme.alice), acme.json()
    at = (timezone.now() - timedelta(days=1)).replace(microsecond=0)
    body = {"client_id": client.id, "kind": "call", "content": "Call back", "noted_at": at.isoformat(), "duration": 15}
    body["outcome"] = "reached"
    response = json.post(PATH, json={"note": body})
    note = acme.account.notes.get()
    expected = note_body(note, acme.bob, **{**body, "noted_at": on_the_wire(at)})
    location = f"http://acme.example.test/app/notes/{note.id}.json"
    assert_answered(response, 201, expected, location=location)
    path = f"/app/notes/{note.id}.json"
    assert_answered(json.get(path), 200, expected)

    response = json.put(path, json={"note": {"content": "Called back", "kind": None, "noted_at": None}})
    note.refresh_from_db()
    expected = note_body(note, acme.bob, **{**body, "content": "Called back", "noted_at": on_the_wire(at)})
    assert_answered(response, 200, expected)
    assert_answered(json.get(PATH), 200, [expected], link=link_to_first_page(PATH))
    assert read(json.get(f"{PATH}?client_id={client.id + 1000}")) == []

    assert_answered(json.delete(path), 200, "ok")
    assert_refused(json.get(path), 404, "not_found")


def test_it_rejects_invalid_notes(acme):
    ids = {"client_id": make_client(acme.alice).id, "contact_id": make_contact(acme.alice).id}
    ids["deal_id"] = make_deal(acme.alice).id
    later = (timezone.now() + timedelta(hours=1)).isoformat()
    for note, errors in (
        (
            {"client_id": 10**15, "kind": "letter", "content": " ", "noted_at": "soon", "duration": -1},
            {
                "client_id": ["can't be found"],
                "kind": ["is not one of note, call, meeting, email"],
                "content": ["can't be blank"],
                "noted_at": ["is not a time (ISO 8601, such as 2009-01-26T18:06:53+01:00)"],
                "duration": ["must be between 0 and 100000"],
            },
        ),
        ({"content": "a"}, ONE_LINK),
        ({"content": "a", **ids}, ONE_LINK),
        ({"content": "a", "client_id": ids["client_id"], "deal_id": ids["deal_id"]}, ONE_LINK),
        (
            {"content": "a", "outcome": "busy", "client_id": ids["client_id"]},
            {"outcome": ["can only be given for a call"]},
        ),
        ({"content": "a", "noted_at": later, "client_id": ids["client_id"]}, {"noted_at": ["can't be in the future"]}),
    ):
        assert_refused(acme.json().post(PATH, json={"note": note}), 422, "validation_failed", errors)
    assert not acme.account.notes.exists()


def test_a_note_moves_to_another_row(acme):
    note, deal = make_note(acme.bob), make_deal(acme.alice)
    path = f"/app/notes/{note.id}.json"
    assert_refused(acme.json().put(path, json={"note": {"deal_id": deal.id}}), 422, "validation_failed", ONE_LINK)
    body = read(acme.json().put(path, json={"note": {"client_id": None, "deal_id": deal.id}}))
    assert (body["client_id"], body["deal_id"]) == (None, deal.id)


def test_a_new_link_replaces_a_pending_one(acme):
    client, deal = make_client(acme.alice), make_deal(acme.alice)
    note = make_note(acme.bob, client_id=client.id)
    client.trash(by=acme.alice)
    body = read(acme.json().put(f"/app/notes/{note.id}.json", json={"note": {"deal_id": deal.id}}))
    client.restore()
    note.refresh_from_db()
    assert body["client_id"] == note.client_id == note.trashed_client_id is None
    assert body["deal_id"] == note.deal_id == deal.id


@table(("make", "link"), [(make_client, "client"), (make_contact, "contact"), (make_deal, "deal")])
def test_a_note_stays_while_its_row_is_in_the_trash(acme, make, link):
    row = make(acme.alice)
    note = make_note(acme.alice, **{f"{link}_id": row.id})
    row.trash(by=acme.alice)
    assert read(acme.json().get(f"/app/notes/{note.id}.json"))[f"{link}_id"] is None
    row.restore()
    assert read(acme.json().get(f"/app/notes/{note.id}.json"))[f"{link}_id"] == row.id


def test_a_note_is_erased_with_its_row(acme):
    client = make_client(acme.alice)
    make_note(acme.alice, client_id=client.id)
    client.trash(by=acme.alice)
    acme.account.clients.filter(id=client.id).erase(before=timezone.now(), limit=1)
    assert not acme.account.notes.exists()


def test_mentions_are_users_of_the_team(acme):
    ann = make_user(acme.account, "ann", name="Ann Smith", role="agent")
    make_user(acme.account, "dora", role="agent", is_active=False)
    text = "@bob, @Ann Smith, @carol, @dora, @nobody and bob@example.com"
    note = make_note(acme.alice, text)
    assert note.mentioned_user_ids == sorted([acme.bob.id, ann.id])
    note.write({"content": "Nobody"}, by=acme.alice)
    note.refresh_from_db()
    assert (note.mentioned_user_ids, note.excerpt) == ([], "Nobody")


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_only_the_author_and_admins_change_a_note(acme, method):
    path = f"/app/notes/{make_note(acme.alice, 'Before').id}.json"
    body = {"note": {"content": "After"}}
    response = acme.json().request(method, path, json=body)
    assert_refused(response, 403, "forbidden", message="You do not have permission to perform this action.")
    assert read(acme.json().get(path))["content"] == "Before"
    path = f"/app/notes/{make_note(acme.bob).id}.json"
    assert acme.json(acme.alice_token).request(method, path, json=body).status_code == 200


def test_an_agent_reads_the_notes_of_their_own_customers(acme):
    acme.account.change(agents_see="own")
    own, hidden = make_client(acme.alice, responsible_id=acme.bob.id), make_client(acme.alice)
    note, secret = make_note(acme.alice, client_id=own.id), make_note(acme.alice, "Secret", client_id=hidden.id)
    json = acme.json()
    for query, expected in (
        ("", [note.id]),
        ("?order=-updated_at", [note.id]),
        ("?kind=note", [note.id]),
        ("?q=secret", []),
        (f"?client_id={hidden.id}", []),
    ):
        assert [row["id"] for row in read(json.get(f"{PATH}{query}"))] == expected, query
    for method in ("GET", "PUT", "DELETE"):
        assert_refused(json.request(method, f"/app/notes/{secret.id}.json", json={"note": {}}), 404, "not_found")
    body = {"note": {"client_id": hidden.id, "content": "a"}}
    assert_refused(json.post(PATH, json=body), 422, "validation_failed", {"client_id": ["can't be found"]})


def test_filters_and_search(acme):
    call = make_note(acme.alice, "Wants chairs", kind="call")
    note = make_note(acme.bob, f"{'long ' * 40}tables")
    json = acme.json()
    for query, expected in (
        ("kind=call", call),
        (f"creator_id={acme.bob.id}", note),
        ("q=table", note),
        ("q=wants+ch", call),
    ):
        assert [row["id"] for row in read(json.get(f"{PATH}?{query}"))] == [expected.id], query


def test_the_trash_shows_the_beginning_of_a_note(acme):
    make_note(acme.alice, "First line\nsecond line " + "x" * 200).trash(by=acme.alice)
    [item] = read(acme.json(acme.alice_token).get("/app/trash.json?resource=note"))
    assert item["name"] == ("First line second line " + "x" * 76 + "…")
