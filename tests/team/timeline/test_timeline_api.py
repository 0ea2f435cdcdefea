"""`/app/{clients,contacts,deals}/{id}/timeline.json`."""

import pytest

from tests.support.assertions import assert_answered, assert_refused, on_the_wire, read
from tests.support.factories import make_client, make_contact, make_deal, make_note, make_post
from tests.support.queries import capture_queries
from tests.support.tables import table


@pytest.fixture
def client(acme):
    return make_client(acme.alice, "Northwind")


def path_of(row) -> str:
    return f"/app/{row._meta.model_name}s/{row.id}/timeline.json"


def test_it_works(acme, client):
    contact = make_contact(acme.alice, "Nora", client_id=client.id)
    deal = make_deal(acme.alice, "Roof", client_id=client.id, contact_id=contact.id, price="12000")
    note = make_note(acme.bob, "Wants\nan offer", deal_id=deal.id, kind="call", duration=15)
    post = make_post(acme.carol, "Invoices")
    post.cast_proxy_vote(by=acme.bob, client_id=client.id)
    vote = acme.account.proxy_votes.get()
    client.write({"city": "Gdańsk"}, by=acme.bob)
    links = {"client_id": client.id, "contact_id": None, "deal_id": None}
    of_deal = {"client_id": client.id, "contact_id": contact.id, "deal_id": deal.id}
    changed = {"field": "city", "before": None, "after": "Gdańsk"}
    body = [
        {
            "kind": "change",
            "at": on_the_wire(client.updated_at),
            "user_id": acme.bob.id,
            **links,
            "resource": "client",
            "resource_id": client.id,
            "title": "Northwind",
            "data": {"changes": [changed]},
        },
        {
            "kind": "vote",
            "at": on_the_wire(vote.created_at),
            "user_id": acme.bob.id,
            **links,
            "resource": "post",
            "resource_id": post.id,
            "title": "Invoices",
            "data": {},
        },
        {
            "kind": "call",
            "at": on_the_wire(note.noted_at),
            "user_id": acme.bob.id,
            **of_deal,
            "resource": "note",
            "resource_id": note.id,
            "title": "Wants an offer",
            "data": {"text": "Wants\nan offer", "outcome": None, "duration": 15},
        },
        {
            "kind": "deal",
            "at": on_the_wire(deal.created_at),
            "user_id": acme.alice.id,
            **of_deal,
            "resource": "deal",
            "resource_id": deal.id,
            "title": "Roof",
            "data": {"price": 12000, "currency": "EUR"},
        },
    ]
    acme.json().get(path_of(client))
    for row, expected in ((client, body), (contact, body[2:]), (deal, body[2:])):
        response, queries = capture_queries(lambda row=row: acme.json().get(path_of(row)))
        link = f'<http://acme.example.test{path_of(row)}?page=1>; rel="first"'
        assert_answered(response, 200, expected, link=link)
        assert len(queries) == 3


def test_pages_and_kinds(acme, client):
    for kind in ("note", "call", "email", "call"):
        make_note(acme.bob, kind * 1000, client_id=client.id, kind=kind)
    entries = read(acme.json().get(f"{path_of(client)}?kind=call,%20note"))
    assert [entry["kind"] for entry in entries] == ["call", "call", "note"]
    # A long note is cut.
    assert entries[2]["data"]["text"] == ("note" * 1000)[:999] + "…"
    for query, relations in (("per_page=1&page=2&kind=call", {"first", "prev"}), ("per_page=3", {"first", "next"})):
        assert acme.json().get(f"{path_of(client)}?{query}").links.keys() == relations
    kinds = "note, call, meeting, email, task, task_done, deal, stage, suggestion, vote, change, merge, merge_undone, message, unsubscribed"
    response = acme.json().get(f"{path_of(client)}?kind=note,party&page=0")
    errors = {"page": ["must be a whole number, 1 or more"], "kind": [f"party is not one of {kinds}"]}
    assert_refused(response, 422, "validation_failed", errors)


@table("make", [make_client, make_contact, make_deal])
def test_it_rejects_rows_in_the_trash(acme, make):
    row = make(acme.alice)
    row.trash(by=acme.alice)
    assert_refused(acme.json().get(path_of(row)), 404, "not_found")


def test_limited_agents_see_only_their_rows(acme, client):
    acme.account.change(agents_see="own")
    assert_refused(acme.json().get(path_of(client)), 404, "not_found")
    client.write({"responsible_id": acme.bob.id}, by=acme.alice)
    for number in range(5):
        make_deal(acme.alice, f"Hidden {number}", client_id=client.id, responsible_id=acme.alice.id)
    make_note(acme.alice, "Own", client_id=client.id)
    response, queries = capture_queries(lambda: acme.json().get(f"{path_of(client)}?per_page=2"))
    assert [entry["kind"] for entry in read(response)] == ["note", "change"]
    assert len(queries) == 3
