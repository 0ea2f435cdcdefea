"""Counts of the rows of a client and of the members of a contact list."""

from crm.contacts.models import Contact, ContactListCount
from tests.support.assertions import assert_answered, on_the_wire, read
from tests.support.bodies import client_body, contact_list_body
from tests.support.factories import make_client, make_contact, make_contact_list, make_deal, make_post, make_task

COUNTS = ("contacts_count", "posts_count", "deals_count")
MAKE = (make_contact, make_task, make_deal)


def counts(acme, client) -> tuple[int, ...]:
    body = read(acme.json().get(f"/app/clients/{client.id}.json"))
    return tuple(body[name] for name in COUNTS)


def members_count(acme, contact_list) -> int:
    return read(acme.json().get(f"/app/contact_lists/{contact_list.id}.json"))["contacts_count"]


def test_it_works(acme):
    client, other = make_client(acme.alice, "Ann"), make_client(acme.alice)
    rows = [
        make(acme.alice, client_id=client.id) for make in (make_contact, make_task, make_post, make_deal, make_deal)
    ]
    make_contact(acme.alice, client_id=other.id)
    body = client_body(
        client,
        acme.alice,
        name="Ann",
        contacts_count=1,
        posts_count=2,
        deals_count=2,
        last_activity=on_the_wire(rows[2].created_at),
    )
    assert_answered(acme.json().get(f"/app/clients/{client.id}.json"), 200, body)
    # The response to an update has the same counts.
    response = acme.json().put(f"/app/clients/{client.id}.json", json={"client": {"name": "Eve"}})
    client.refresh_from_db()
    now = on_the_wire(client.updated_at)
    assert_answered(response, 200, {**body, "name": "Eve", "updater_id": acme.bob.id, "updated_at": now})


def test_trashed_rows_are_not_counted(acme):
    client = make_client(acme.alice)
    rows = [make(acme.alice, client_id=client.id) for make in MAKE]
    for number, row in enumerate(rows):
        row.trash(by=acme.alice)
        assert counts(acme, client) == tuple(int(other != number) for other in range(3))
        row.restore()
        assert counts(acme, client) == (1, 1, 1)
    client.trash(by=acme.alice)
    client.restore()
    assert counts(acme, client) == (1, 1, 1)


# Contact lists


def test_contacts_of_a_list_are_counted(acme):
    news, other = make_contact_list(acme.alice, "News"), make_contact_list(acme.alice)
    ann, eve = (make_contact(acme.alice, contact_list_ids=[news.id]) for _ in range(2))
    assert_answered(
        acme.json().get(f"/app/contact_lists/{news.id}.json"),
        200,
        contact_list_body(news, name="News", contacts_count=2),
    )
    response = acme.json().put(f"/app/contact_lists/{news.id}.json", json={"contact_list": {"name": "More"}})
    assert read(response)["contacts_count"] == 2
    for list_ids, expected in (
        ([news.id, other.id], (2, 1)),
        ([news.id, other.id], (2, 1)),
        ([other.id], (1, 1)),
        ([], (1, 0)),
        ([news.id], (2, 0)),
    ):
        ann.write({"contact_list_ids": list_ids}, by=acme.alice)
        assert (members_count(acme, news), members_count(acme, other)) == expected
    eve.trash(by=acme.alice)
    assert members_count(acme, news) == 1
    eve.restore()
    assert members_count(acme, news) == 2


def test_a_contact_whose_lists_change_while_one_is_in_the_trash(acme):
    news, other = make_contact_list(acme.alice), make_contact_list(acme.alice)
    ann, _eve = (make_contact(acme.alice, contact_list_ids=[news.id]) for _ in range(2))
    news.trash(by=acme.alice)
    ann.write({"contact_list_ids": [other.id]}, by=acme.alice)
    news.restore()
    assert (members_count(acme, news), members_count(acme, other)) == (2, 1)
    ann.trash(by=acme.alice)
    assert (members_count(acme, news), members_count(acme, other)) == (1, 0)
    # Erasing a contact in the trash changes no count.
    Contact.objects.filter(pk=ann.pk).delete()
    assert (members_count(acme, news), members_count(acme, other)) == (1, 0)
    # The count of an erased list is deleted.
    news.delete()
    other.delete()
    assert not ContactListCount.objects.exists()
