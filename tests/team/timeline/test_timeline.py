"""The timeline of clients, contacts and deals: which entries are written, and who sees them."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from accounts.users.models import User
from crm.clients.models import Client
from crm.contacts.models import Contact
from team.timeline.derivations import MAX_VALUE_LENGTH
from team.timeline.models import TimelineEntry
from tests.support.factories import (
    make_client,
    make_contact,
    make_deal,
    make_field_definition,
    make_note,
    make_post,
    make_task,
)
from tests.support.timeline import mirrored, recount

COLUMNS = ("kind", "at", "resource", "resource_id", "client_id", "contact_id", "deal_id", "user_id")


@pytest.fixture
def client(acme) -> Client:
    return make_client(acme.alice, "Northwind")


def reload(row):
    """Return the row as it is stored, with its account."""
    return type(row).objects.get(account_id=row.account_id, id=row.id)


def of(row):
    return row.account.timeline_entries.filter(**{f"{row._meta.model_name}_id": row.id}).newest_first()


def entries(row, user: User) -> list[tuple[str, str]]:
    """Return the kinds and the titles of the entries that a user sees on the timeline of a row, newest first."""
    return [(entry.kind, entry.subject["title"]) for entry in of(row).with_subjects(row.account, user.access)]


def last(row) -> dict:
    return of(row).values(*COLUMNS, "data")[0]


def changes(row) -> list[dict]:
    """Return the logged changes of the newest entry of a row."""
    entry = of(row)[0]
    assert entry.kind == "change"
    return entry.data["changes"]


def test_it_works(acme, client):
    """A client has the entries of its own rows, and those of its contacts and deals."""
    contact = make_contact(acme.alice, "Nora", client_id=client.id)
    deal = make_deal(acme.alice, "Roof", client_id=client.id, contact_id=contact.id)
    make_note(acme.bob, "Wants an offer", client_id=client.id)
    make_note(acme.bob, "Is on holiday", contact_id=contact.id, kind="call")
    make_note(acme.bob, "Needs a crane", deal_id=deal.id, kind="meeting")
    task = make_task(acme.bob, "Send it", deal_id=deal.id)
    task.write({"closed": True}, by=acme.bob)
    post = make_post(acme.bob, "Dark mode", contact_id=contact.id)
    voted = make_post(acme.carol, "Invoices")
    voted.cast_proxy_vote(by=acme.bob, client_id=client.id)
    all_entries = [
        ("vote", "Invoices"),
        ("suggestion", "Dark mode"),
        ("task_done", "Send it"),
        ("task", "Send it"),
        ("meeting", "Needs a crane"),
        ("call", "Is on holiday"),
        ("note", "Wants an offer"),
        ("deal", "Roof"),
    ]
    assert entries(client, acme.bob) == all_entries
    of_client = {"vote", "note"}
    assert entries(contact, acme.bob) == [each for each in all_entries if each[0] not in of_client]
    assert entries(deal, acme.bob) == [
        each for each in all_entries if each[0] not in {*of_client, "call", "suggestion"}
    ]
    assert of(client).filter(kind="suggestion").values(*COLUMNS).get() == {
        "kind": "suggestion",
        "at": post.created_at,
        "resource": "post",
        "resource_id": post.id,
        "client_id": client.id,
        "contact_id": contact.id,
        "deal_id": None,
        "user_id": acme.bob.id,
    }
    assert mirrored() == recount()


def test_what_is_not_logged(acme, client):
    """Rows without links, writes without a change, and links to rows that go to the trash or are erased."""
    for make in (make_task, make_post, make_contact):
        make(acme.bob)
    contact = make_contact(acme.alice, client_id=client.id)
    client.write({"name": client.name, "city": "", "tags": []}, by=acme.bob)
    client.trash(by=acme.bob)
    reload(client).restore()
    assert not TimelineEntry.objects.exists()
    client = reload(client)
    client.trash(by=acme.alice)
    acme.account.clients.filter(id=client.id).erase(before=timezone.now(), limit=1)
    assert not of(contact).exists()


def test_a_write_of_no_user_and_a_long_text(acme, client):
    """The entry has no user, and a part of the text."""
    acme.account.clients.filter(id=client.id).update(note="a" * 10_000)
    [change] = changes(client)
    assert (change["after"], last(client)["user_id"]) == ("a" * MAX_VALUE_LENGTH + "…", None)


def test_entries_follow_their_rows(acme, client):
    contact, other = make_contact(acme.alice, client_id=client.id), make_client(acme.alice)
    note = make_note(acme.bob, client_id=client.id)
    yesterday = timezone.now() - timedelta(days=1)
    note.write({"kind": "call", "noted_at": yesterday, "content": "Called"}, by=acme.bob)
    assert [(kind, title) for kind, title in entries(client, acme.bob)] == [("call", "Called")]
    assert of(client)[0].at == yesterday
    note.write({"client_id": None, "contact_id": contact.id}, by=acme.bob)
    assert last(client)["contact_id"] == contact.id
    task = make_task(acme.bob, client_id=other.id)
    task.write({"closed": True}, by=acme.bob)
    assert [kind for kind, _ in entries(other, acme.bob)] == ["task_done", "task"]
    task.write({"closed": False, "client_id": client.id}, by=acme.bob)
    assert entries(other, acme.bob) == []
    assert mirrored() == recount()


def test_the_entries_of_a_deal_move_with_it(acme, client):
    other, contact = make_client(acme.alice), make_contact(acme.alice)
    deal = make_deal(acme.alice, "Roof", client_id=client.id)
    make_note(acme.bob, "On the deal", deal_id=deal.id)
    make_task(acme.bob, "Of the deal", deal_id=deal.id)
    make_task(acme.bob, "Of both", deal_id=deal.id, client_id=client.id)
    deal.write({"client_id": other.id, "contact_id": contact.id, "price": "5"}, by=acme.alice)
    assert entries(client, acme.bob) == [("task", "Of both")]
    moved = [("change", "Roof"), ("task", "Of the deal"), ("note", "On the deal"), ("deal", "Roof")]
    assert entries(other, acme.bob) == moved
    assert entries(contact, acme.bob) == [moved[0], ("task", "Of both"), *moved[1:]]
    assert mirrored() == recount()


def test_the_entries_of_a_contact_move_with_it(acme, client):
    other = make_client(acme.alice)
    contact = make_contact(acme.alice, "Nora", client_id=client.id)
    make_note(acme.bob, "On the contact", contact_id=contact.id)
    make_task(acme.bob, "Of the contact", contact_id=contact.id)
    make_task(acme.bob, "Of both", contact_id=contact.id, client_id=client.id)
    make_post(acme.carol, "Invoices").cast_proxy_vote(by=acme.bob, contact_id=contact.id)
    contact.write({"client_id": other.id}, by=acme.alice)
    assert entries(client, acme.bob) == [("task", "Of both")]
    assert [kind for kind, _ in entries(other, acme.bob)] == ["change", "vote", "task", "note"]
    assert mirrored() == recount()


def test_a_client_in_the_trash_keeps_its_entries(acme, client):
    contact = make_contact(acme.alice, "Nora", client_id=client.id)
    make_note(acme.bob, client_id=client.id)
    make_task(acme.bob, contact_id=contact.id)
    make_deal(acme.bob, client_id=client.id)
    before = list(of(client).values())
    client.trash(by=acme.alice)
    assert list(of(client).values()) == before
    reload(client).restore()
    assert list(of(client).values()) == before
    assert mirrored() == recount()


def test_a_row_in_the_trash_is_not_shown(acme, client):
    rows = [make(acme.bob, "Row", client_id=client.id) for make in (make_note, make_task, make_post, make_deal)]
    rows[3].write({"name": "Renamed"}, by=acme.bob)
    post = make_post(acme.carol, "Voted")
    post.cast_proxy_vote(by=acme.bob, client_id=client.id)
    shown = entries(client, acme.bob)
    kinds = {
        rows[0]: {"note"},
        rows[1]: {"task"},
        rows[2]: {"suggestion"},
        rows[3]: {"deal", "change"},
        post: {"vote"},
    }
    assert len(shown) == 6
    for row, hidden in kinds.items():
        row.trash(by=acme.bob)
        assert entries(client, acme.bob) == [entry for entry in shown if entry[0] not in hidden]
        reload(row).restore()
        assert entries(client, acme.bob) == shown
        assert mirrored() == recount()
    # A withdrawn vote has no entry.
    acme.account.proxy_votes.all().delete()
    assert not of(client).filter(kind="vote").exists()


def test_an_erased_suggestion_takes_its_votes_with_it(acme, client):
    """The copy of a vote for a post that was merged into another one is a vote of its own when that post is erased."""
    post, original = make_post(acme.carol, "Duplicate"), make_post(acme.carol, "Original")
    contact = make_contact(acme.alice, client_id=client.id)
    post.cast_proxy_vote(by=acme.bob, client_id=client.id)
    acme.account.proxy_votes.copy(acme.account.id, from_id=post.id, to_id=original.id)
    assert entries(client, acme.bob) == [("vote", "Duplicate")]
    original.cast_proxy_vote(by=acme.bob, contact_id=contact.id)
    post.trash(by=acme.bob)
    acme.account.posts.filter(id=post.id).erase(before=timezone.now(), limit=1)
    assert entries(client, acme.bob) == [("vote", "Original"), ("vote", "Original")]
    assert mirrored() == recount()
    original.delete()
    assert not of(client).exists()


def test_erased_rows_leave_no_entries(acme, client):
    contact = make_contact(acme.alice, client_id=client.id)
    deal = make_deal(acme.alice, "Roof", client_id=client.id, contact_id=contact.id)
    make_note(acme.bob, client_id=client.id)
    make_note(acme.bob, "Of the contact", contact_id=contact.id)
    make_note(acme.bob, "Of the deal", deal_id=deal.id)
    task = make_task(acme.bob, "Of the deal", deal_id=deal.id)
    make_post(acme.carol, "Voted").cast_proxy_vote(by=acme.bob, client_id=client.id)
    client.write({"city": "Gdańsk"}, by=acme.alice)
    client.trash(by=acme.alice)
    acme.account.clients.filter(id=client.id).erase(before=timezone.now(), limit=1)
    assert not of(client).exists()
    of_deal = [("task", "Of the deal"), ("note", "Of the deal"), ("deal", "Roof")]
    assert entries(contact, acme.bob) == [*of_deal[:2], ("note", "Of the contact"), of_deal[2]]
    assert mirrored() == recount()
    deal = reload(deal)
    deal.write({"name": "House"}, by=acme.bob)
    deal.delete()
    assert entries(contact, acme.bob) == [("note", "Of the contact")]
    assert not acme.account.timeline_entries.filter(resource_id=task.id).exists()
    Contact.objects.get(account_id=acme.account.id, id=contact.id).delete()
    assert not TimelineEntry.objects.exists()


# Changes


def test_a_change_of_fields_is_logged(acme, client):
    make_field_definition(acme.account, "size", type="number")
    client = reload(client)
    client.write(
        {"city": "Gdańsk", "tags": ["vip"], "discount": "12.5", "additional_fields": {"size": 1, "own": "x"}},
        by=acme.bob,
    )
    assert changes(client) == [
        {"field": "city", "before": None, "after": "Gdańsk"},
        {"field": "discount", "before": None, "after": Decimal("12.5")},
        {"field": "tags", "before": [], "after": ["vip"]},
        {"field": "additional_fields[own]", "before": None, "after": "x"},
        {"field": "additional_fields[size]", "before": None, "after": 1},
    ]
    entry = last(client)
    assert (entry["at"], entry["user_id"]) == (client.updated_at, acme.bob.id)
    assert (entry["resource"], entry["resource_id"]) == ("client", client.id)


def test_a_deal_has_its_stages(acme, client):
    statuses = {status.code: status for status in acme.account.statuses_of_kind("deal")}
    deal = make_deal(acme.alice, "Roof", client_id=client.id, status_id=statuses["new"].id)
    deal.write({"status_id": statuses["won"].id}, by=acme.bob)
    deal.write({"status_id": None}, by=acme.bob)
    assert [kind for kind, _ in entries(deal, acme.bob)] == ["stage", "stage", "deal"]
    taken, won, _created = of(deal)
    moved_at = acme.account.deal_stages.get(deal_id=deal.id, status_id=statuses["won"].id).entered_at
    assert (won.at, won.user_id, won.client_id) == (moved_at, acme.bob.id, client.id)
    assert {name: won.data["after"][name] for name in ("id", "code", "outcome")} == {
        "id": statuses["won"].id,
        "code": "won",
        "outcome": "won",
    }
    assert won.data["before"]["code"] == "new"
    assert (taken.data["before"]["code"], taken.data["after"]) == ("won", None)


def test_other_modules_log_events(acme, client):
    contact = make_contact(acme.alice, client_id=client.id)
    deal = make_deal(acme.alice, client_id=client.id)
    with pytest.raises(ValueError, match="party"):
        TimelineEntry.objects.append("party", [client], by=acme.bob)
    with pytest.raises(ValueError, match="note"):
        TimelineEntry.objects.append("note", [client], by=acme.bob)
    TimelineEntry.objects.append("change", [client, contact, deal], by=acme.bob, data={"changes": []})
    assert [kind for kind, _ in entries(client, acme.bob)] == ["change"] * 3 + ["deal"]
    rows = of(client).filter(kind="change").order_by("number")
    assert list(rows.values_list("resource", "client_id", "contact_id", "deal_id")) == [
        ("client", client.id, None, None),
        ("contact", client.id, contact.id, None),
        ("deal", client.id, None, deal.id),
    ]


# Access


def test_limited_agents_see_the_entries_of_their_rows(acme, client):
    acme.account.agents_see = "own"
    acme.account.save()
    bob = User.objects.get(account_id=acme.account.id, id=acme.bob.id)
    client.write({"responsible_id": bob.id}, by=acme.alice)
    for user, name in ((acme.alice, "hidden"), (bob, "own")):
        values = {"client_id": client.id, "responsible_id": user.id}
        contact = make_contact(acme.alice, name, **values)
        deal = make_deal(acme.alice, name, **values)
        make_task(acme.alice, name, **values).write({"closed": True}, by=acme.alice)
        make_note(acme.alice, f"{name} contact", contact_id=contact.id)
        make_note(acme.alice, f"{name} deal", deal_id=deal.id)
        make_post(acme.carol, f"{name} vote").cast_proxy_vote(by=acme.alice, contact_id=contact.id)
        deal.write({"price": 1}, by=acme.alice)
        contact.write({"position": "Buyer"}, by=acme.alice)
    hidden = [entry for entry in entries(client, acme.alice) if "hidden" in entry[1]]
    assert len(hidden) == 8
    assert entries(client, bob) == [entry for entry in entries(client, acme.alice) if entry not in hidden]
