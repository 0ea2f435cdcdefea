from tests.support.assertions import assert_answered, assert_refused
from tests.support.bodies import contact_body
from tests.support.factories import make_client, make_contact, make_contact_list


def test_it_works(acme):
    client, contact_list = make_client(acme.alice), make_contact_list(acme.alice)
    contact = make_contact(
        acme.bob, "Ann", client_id=client.id, contact_list_ids=[contact_list.id], tags=["vip"], position="CEO"
    )
    assert_answered(
        acme.json().get(f"/app/contacts/{contact.id}.json"),
        200,
        contact_body(
            contact,
            acme.bob,
            name="Ann",
            client_id=client.id,
            contact_list_ids=[contact_list.id],
            tags=["vip"],
            position="CEO",
        ),
    )


def test_it_rejects_contacts_that_do_not_exist(acme):
    trashed, client = make_contact(acme.bob), make_client(acme.bob)
    trashed.trash(by=acme.bob)
    for id in (trashed.id, client.id, 10**15):
        assert_refused(acme.json().get(f"/app/contacts/{id}.json"), 404, "not_found")


def test_it_rejects_other_methods(acme):
    contact = make_contact(acme.bob)
    response = acme.json().post(f"/app/contacts/{contact.id}.json", json={})
    assert_refused(response, 405, "method_not_allowed", allow="GET, HEAD, PUT, PATCH, DELETE")
    response = acme.json().delete("/app/contacts.json")
    assert_refused(response, 405, "method_not_allowed", allow="GET, HEAD, POST, PUT, PATCH")
