from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.factories import make_client, make_contact, make_contact_list


def test_it_works(acme):
    contact = make_contact(acme.alice)
    assert_answered(acme.json().delete(f"/app/contacts/{contact.id}.json"), 200, "ok")
    assert_refused(acme.json().get(f"/app/contacts/{contact.id}.json"), 404, "not_found")


def test_it_rejects_unknown_and_trashed_contacts(acme):
    contact = make_contact(acme.alice)
    acme.json().delete(f"/app/contacts/{contact.id}.json")
    for id in (contact.id, 10**15):
        assert_refused(acme.json().delete(f"/app/contacts/{id}.json"), 404, "not_found")


def test_the_client_and_the_contact_lists_are_kept(acme):
    client, contact_list = make_client(acme.alice), make_contact_list(acme.alice)
    contact = make_contact(acme.alice, client_id=client.id, contact_list_ids=[contact_list.id])
    response = acme.json().put(f"/app/clients/{client.id}.json", json={"client": {"contact_id": contact.id}})
    assert read(response)["contact_id"] == contact.id
    acme.json().delete(f"/app/contacts/{contact.id}.json")
    assert acme.json().get(f"/app/contact_lists/{contact_list.id}.json").status_code == 200
    assert read(acme.json().get(f"/app/clients/{client.id}.json"))["contact_id"] is None
