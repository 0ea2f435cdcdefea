import pytest

from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import contact_body
from tests.support.factories import make_client, make_contact, make_contact_list
from tests.support.tables import table


def test_it_works(acme):
    client = make_client(acme.alice)
    response = acme.json().post(
        "/app/contacts.json",
        json={"contact": {"name": "contact 1", "email": "c1@example.net", "note": "note 1", "client_id": client.id}},
    )
    contact = acme.account.contacts.get()
    assert_answered(
        response,
        201,
        contact_body(contact, acme.bob, name="contact 1", email="c1@example.net", note="note 1", client_id=client.id),
        location=f"http://acme.example.test/app/contacts/{contact.id}.json",
    )


def test_it_rejects_every_error_at_once(acme):
    contact = {
        "name": "a",
        "email": "a" * 256,
        "client_id": 10**15,
        "contact_list_ids": [10**15],
        "responsible_id": acme.carol.id,
        "tags": {"a": 1},
    }
    response = acme.json().post("/app/contacts.json", json={"contact": contact})
    assert_refused(
        response,
        422,
        "validation_failed",
        {
            "email": ["is too long (maximum is 255 characters)"],
            "client_id": ["can't be found"],
            "contact_list_ids": [f"{10**15} can't be found"],
            "responsible_id": ["can't be found"],
            "tags": ["must be a list of names, or one text with commas"],
        },
    )
    assert not acme.account.contacts.exists()


@table("body", [{}, {"contact": None}, {"client": {"name": "a"}}])
def test_it_rejects_a_body_without_a_contact(acme, body):
    response = acme.json().post("/app/contacts.json", json=body)
    assert_refused(response, 422, "validation_failed", {"contact": ["can't be blank"]})


@table(
    "notation",
    [
        lambda number: [str(number), ""],
        lambda number: [" ", f" {number} ", number],
        lambda number: {"0": str(number)},
        lambda number: {"0": "", "1": number},
    ],
)
def test_ids_of_lists_in_the_notations_of_forms_and_php(acme, notation):
    vip = make_contact_list(acme.alice)
    body = {"contact": {"name": "Jan", "contact_list_ids": notation(vip.id)}}
    response = acme.json().post("/app/contacts.json", json=body)
    assert (response.status_code, read(response)["contact_list_ids"]) == (201, [vip.id])


def test_a_list_with_only_a_blank_id_is_empty(acme):
    contact = make_contact(acme.alice, contact_list_ids=[make_contact_list(acme.alice).id])
    response = acme.json().put(f"/app/contacts/{contact.id}.json", json={"contact": {"contact_list_ids": [""]}})
    assert (response.status_code, read(response)["contact_list_ids"]) == (200, [])


def test_it_rejects_a_contact_without_a_name(acme):
    response = acme.json().post("/app/contacts.json", json={"contact": {"note": "x"}})
    assert_refused(response, 422, "validation_failed", {"name": ["can't be blank"]})


@table(
    ("ids", "rule"),
    [
        (7, "must be a list of ids"),
        ("1,2", "must be a list of ids"),
        ({"a": 2}, "must be a list of ids"),
        ([None], "must be a list of ids"),
        ([True], "must be a list of ids"),
        ([[1]], "must be a list of ids"),
        (["x"], "must be a list of ids"),
        ([1.5], "must be a list of ids"),
        ([10**30], "must be a list of ids"),
        ([-1], "-1 can't be found"),
        ([10**15, 10**15 + 1], "1000000000000000, 1000000000000001 can't be found"),
        ([1] * 1001, "has too many ids (maximum is 1000)"),
    ],
)
def test_it_rejects_invalid_ids_of_contact_lists(acme, ids, rule):
    response = acme.json().post("/app/contacts.json", json={"contact": {"name": "a", "contact_list_ids": ids}})
    assert_refused(response, 422, "validation_failed", {"contact_list_ids": [rule]})
    assert not acme.account.contacts.exists()


def test_all_fields(acme):
    client = make_client(acme.alice)
    contact_lists = [make_contact_list(acme.alice), make_contact_list(acme.alice)]
    fields = {
        "name": "Ann Kowalska",
        "email": "ann@example.net",
        "note": "a note\nof two lines",
        "client_id": client.id,
        "contact_list_ids": [row.id for row in contact_lists],
        "first_name": "Ann",
        "last_name": "Kowalska",
        "phone": "+48 22 123 45 67",
        "mobile_phone": "+48 600 100 200",
        "position": "Head of purchasing",
        "description": "ąęł 😀",
        "responsible_id": acme.alice.id,
        "tags": ["vip", "new"],
    }
    client = acme.json()
    response = client.post("/app/contacts.json", json={"contact": fields})
    row = acme.account.contacts.get()
    body = contact_body(row, acme.bob, **fields)
    assert_answered(response, 201, body, location=f"http://acme.example.test/app/contacts/{row.id}.json")
    assert_answered(client.get(f"/app/contacts/{row.id}.json"), 200, body)


def test_ids_of_lists_are_sorted_and_without_duplicates(acme):
    first, second = make_contact_list(acme.alice), make_contact_list(acme.alice)
    ids = [str(second.id), first.id, second.id]
    response = acme.json().post("/app/contacts.json", json={"contact": {"name": "a", "contact_list_ids": ids}})
    assert response.status_code == 201
    assert read(response)["contact_list_ids"] == [first.id, second.id]


@table("value", [None, "", []])
def test_null_and_empty_ids_of_lists(acme, value):
    response = acme.json().post("/app/contacts.json", json={"contact": {"name": "a", "contact_list_ids": value}})
    assert response.status_code == 201
    assert read(response)["contact_list_ids"] == []


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"first_name": "Ann", "last_name": "Kowalska"}, "Ann Kowalska"),
        ({"name": " ", "email": "ann@example.net"}, "ann@example.net"),
    ],
    ids=str,
)
def test_a_blank_name_is_built_from_other_fields(acme, fields, name):
    response = acme.json().post("/app/contacts.json", json={"contact": fields})
    assert response.status_code == 201
    assert read(response)["name"] == name


def test_a_contact_may_be_the_main_contact_of_a_client(acme):
    contact = make_contact(acme.alice)
    response = acme.json().post("/app/clients.json", json={"client": {"name": "a", "contact_id": contact.id}})
    assert read(response)["contact_id"] == contact.id


@table("id", [2**63 - 1, 2**63, -(2**63) - 1, 9_999_999_999_999_999_999, 0, "9223372036854775808"])
def test_it_rejects_ids_of_contact_lists_that_are_out_of_range(acme, id):
    response = acme.json().post("/app/contacts.json", json={"contact": {"name": "Jan", "contact_list_ids": [id]}})
    assert_refused(response, 422, "validation_failed", {"contact_list_ids": [f"{id} can't be found"]})
