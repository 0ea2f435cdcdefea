"""The section "Timeline" on the pages of clients, contacts and deals."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from tests.support.factories import (
    make_client,
    make_contact,
    make_deal,
    make_field_definition,
    make_note,
    make_post,
    make_task,
)
from tests.support.queries import capture_queries
from tests.support.team import record_path


@pytest.fixture
def client(acme):
    return make_client(acme.bob, "Northwind")


def texts(page) -> list[str]:
    """Return the text of each entry, without its time."""
    entries = page.html.select("#timeline .entries > li")
    return [
        re.sub(r"\d?\d(:\d\d)? (a|p)\.m\. ?|(mid|)n(ight|oon)", "", " ".join(entry.get_text(" ").split())).strip()
        for entry in entries
    ]


def test_it_works(acme, client):
    contact = make_contact(acme.bob, "Nora", client_id=client.id)
    deal = make_deal(acme.bob, "Roof", client_id=client.id, price="12000", currency="EUR")
    note = make_note(acme.bob, "Wants an offer\nby Friday", contact_id=contact.id, kind="call", duration=15)
    task = make_task(acme.bob, "Send it", deal_id=deal.id)
    task.write({"closed": True}, by=acme.bob)
    post = make_post(acme.bob, "Dark mode", client_id=client.id)
    client.write({"city": "Gdańsk", "responsible_id": acme.alice.id}, by=acme.bob)
    statuses = {status.code: status.id for status in acme.account.statuses_of_kind("deal")}
    deal.write({"status_id": statuses["won"]}, by=acme.alice)
    visitor = acme.page(acme.bob)
    visitor.get(record_path(client))
    page, queries = capture_queries(lambda: visitor.get(record_path(client)))
    assert len(queries) == 12, queries
    assert texts(page) == [
        "Deal moved Roof – changed to Won alice",
        "Fields changed City – changed to Gdańsk Responsible – changed to alice Bob Nowak",
        "Suggestion added Dark mode Bob Nowak",
        "Task completed Send it Roof",
        "Task added Send it Bob Nowak Roof",
        "Call Wants an offer by Friday Bob Nowak 15 minutes Nora Open the note",
        "Deal added Roof Bob Nowak 12,000.00 EUR",
    ]
    links = {link["href"] for link in page.html.select("#timeline .entries a")}
    assert links == {
        record_path(deal),
        record_path(contact),
        f"/app/tasks/{task.id}",
        f"/app/posts/{post.id}",
        f"/app/notes/{note.id}",
    }
    assert [heading.get_text() for heading in page.html.select("#timeline h3")] == ["Today"]
    page = visitor.get(record_path(deal))
    assert texts(page)[-1] == "Deal added Bob Nowak 12,000.00 EUR Northwind"
    assert texts(visitor.get(record_path(contact))) == [
        "Call Wants an offer by Friday Bob Nowak 15 minutes Northwind Open the note"
    ]


def test_filters_and_pages(acme, client):
    now = timezone.now()
    for number in range(25):
        make_note(acme.bob, f"Number {number}", client_id=client.id, noted_at=now - timedelta(days=number))
    make_deal(acme.bob, "Roof", client_id=client.id)
    visitor = acme.page(acme.bob)
    page = visitor.get(f"{record_path(client)}?show=notes")
    assert texts(page)[:2] == [f"Note Number {number} Bob Nowak Open the note" for number in range(2)]
    assert len(texts(page)) == 20
    headings = [heading.get_text() for heading in page.html.select("#timeline h3")]
    assert headings[:2] == ["Today", "Yesterday"]
    assert len(headings) == 20
    older = page.html.find("a", {"rel": "next"})["href"]
    page = visitor.get(f"{record_path(client)}{older.partition('#')[0]}")
    assert len(texts(page)) == 5
    assert page.html.find("a", {"rel": "prev"})
    assert not page.html.find("a", {"rel": "next"})
    visitor.get(f"{record_path(client)}?page=0", status=404)
    # An unknown filter shows all entries.
    assert texts(visitor.get(f"{record_path(client)}?show=nothing"))[0] == "Deal added Roof Bob Nowak"
    page = visitor.get(f"{record_path(client)}?show=changes")
    assert "There are no entries of this kind." in page.html.find(id="timeline").get_text()
    [current] = page.html.select("#timeline [aria-current]")
    assert (current.get_text(), current["href"]) == ("Changes", "?show=changes#timeline")


def test_values_of_fields(acme, client):
    """A changed link shows the id of a row without a name. Texts are escaped."""
    make_field_definition(acme.account, "since", label="Customer since", type="date")
    client = type(client).objects.get(account_id=acme.account.id, id=client.id)
    contact = make_contact(acme.bob, "Nora")
    fields = {"since": "2020-05-04", "own": {"a": [1]}}
    values = {
        "additional_fields": fields,
        "discount": "12.50",
        "note": "a" * 999,
        "city": "<i>",
        "contact_id": contact.id,
    }
    client.write(values, by=acme.bob)
    contact.trash(by=acme.bob)
    make_note(acme.bob, "<b>bold</b>", client_id=client.id)
    [note, text] = texts(acme.page(acme.bob).get(record_path(client)))
    assert "<b>bold</b>" in note
    for part in (
        "Customer since – changed to May 4, 2020",
        'own – changed to {"a": [1]}',
        "Discount – changed to 12.5",
        "a" * 119 + "…",
        "City – changed to <i>",
        f"Main contact – changed to {contact.id}",
    ):
        assert part in text


def test_names_of_hidden_rows_are_not_shown(acme, client):
    acme.account.change(agents_see="own")
    client.write({"responsible_id": acme.bob.id}, by=acme.alice)
    hidden = make_deal(acme.alice, "Canary", client_id=client.id, responsible_id=acme.alice.id)
    make_task(acme.alice, "Own task", deal_id=hidden.id, responsible_id=acme.bob.id)
    page = acme.page(acme.bob).get(record_path(client))
    assert "Own task" in page.text
    assert "Canary" not in page.text
