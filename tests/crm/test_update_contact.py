from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import contact_body
from tests.support.factories import make_client, make_contact, make_contact_list
from tests.support.tables import table


def test_it_works(acme):
    first, second = make_contact_list(acme.alice), make_contact_list(acme.alice)
    contact = make_contact(acme.alice, "Ann", note="old", contact_list_ids=[first.id])
    response = acme.json().put(
        f"/app/contacts/{contact.id}.json", json={"contact": {"note": "new", "contact_list_ids": [second.id]}}
    )
    contact.refresh_from_db()
    body = contact_body(
        contact, acme.alice, name="Ann", note="new", contact_list_ids=[second.id], updater_id=acme.bob.id
    )
    assert_answered(response, 200, body)
    assert_answered(acme.json().get(f"/app/contacts/{contact.id}.json"), 200, body)


def test_it_rejects_a_blank_name(acme):
    contact = make_contact(acme.bob, "Ann")
    response = acme.json().put(f"/app/contacts/{contact.id}.json", json={"contact": {"name": ""}})
    assert_refused(response, 422, "validation_failed", {"name": ["can't be blank"]})


def test_it_rejects_a_body_without_a_contact(acme):
    contact = make_contact(acme.bob)
    response = acme.json().put(f"/app/contacts/{contact.id}.json", json={"name": "a"})
    assert_refused(response, 422, "validation_failed", {"contact": ["can't be blank"]})


def test_it_rejects_unknown_and_trashed_contacts(acme):
    trashed = make_contact(acme.bob)
    trashed.trash(by=acme.bob)
    for id in (trashed.id, 10**15):
        response = acme.json().put(f"/app/contacts/{id}.json", json={"contact": {"name": "a"}})
        assert_refused(response, 404, "not_found")


def test_unknown_lists_are_rejected_and_nothing_changes(acme):
    contact_list = make_contact_list(acme.bob)
    contact = make_contact(acme.bob, "Ann", contact_list_ids=[contact_list.id])
    response = acme.json().put(
        f"/app/contacts/{contact.id}.json", json={"contact": {"name": "b", "contact_list_ids": [10**15]}}
    )
    assert_refused(response, 422, "validation_failed", {"contact_list_ids": ["1000000000000000 can't be found"]})
    assert_answered(
        acme.json().get(f"/app/contacts/{contact.id}.json"),
        200,
        contact_body(contact, acme.bob, name="Ann", contact_list_ids=[contact_list.id]),
    )


def test_an_update_without_lists_keeps_them(acme):
    contact_list = make_contact_list(acme.alice)
    contact = make_contact(acme.alice, contact_list_ids=[contact_list.id])
    response = acme.json().put(f"/app/contacts/{contact.id}.json", json={"contact": {"note": "new"}})
    assert read(response)["contact_list_ids"] == [contact_list.id]


@table("value", [[], None, ""])
def test_null_and_empty_ids_remove_a_contact_from_all_lists(acme, value):
    contact = make_contact(acme.alice, contact_list_ids=[make_contact_list(acme.alice).id])
    response = acme.json().put(f"/app/contacts/{contact.id}.json", json={"contact": {"contact_list_ids": value}})
    assert read(response)["contact_list_ids"] == []
    assert read(acme.json().get(f"/app/contacts/{contact.id}.json"))["contact_list_ids"] == []


def test_the_client_of_a_contact_may_change(acme):
    first, second = make_client(acme.alice), make_client(acme.alice)
    contact = make_contact(acme.alice, client_id=first.id)
    for value, expected in ((str(second.id), second.id), ("", None), (first.id, first.id), (None, None)):
        response = acme.json().patch(f"/app/contacts/{contact.id}.json", json={"contact": {"client_id": value}})
        assert read(response)["client_id"] == expected


def test_other_contacts_stay_in_the_list(acme):
    contact_list = make_contact_list(acme.alice)
    contact, other = (make_contact(acme.alice, contact_list_ids=[contact_list.id]) for _ in range(2))
    acme.json().put(f"/app/contacts/{contact.id}.json", json={"contact": {"contact_list_ids": []}})
    assert read(acme.json().get(f"/app/contacts/{other.id}.json"))["contact_list_ids"] == [contact_list.id]
