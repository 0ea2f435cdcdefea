"""Contacts: create, read, update and delete, and the contact lists that they are on. `test_clients.py` has the shared rules."""

from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import contact_body
from tests.support.factories import make_client, make_contact, make_contact_list
from tests.support.tables import table


def post(acme, **fields):
    return acme.json().post("/app/contacts.json", json={"contact": fields})


def put(acme, contact, **fields):
    return acme.json().put(f"/app/contacts/{contact.id}.json", json={"contact": fields})


def list_ids(acme, contact) -> list[int]:
    return read(acme.json().get(f"/app/contacts/{contact.id}.json"))["contact_list_ids"]


def test_it_works(acme):
    """Create a contact with all fields, read, update and delete it. Its client and its lists stay."""
    client, json = make_client(acme.alice), acme.json()
    first, second = make_contact_list(acme.alice), make_contact_list(acme.alice)
    fields = {
        "name": "Ann Kowalska",
        "email": "ann@example.net",
        "note": "a note\nof two lines",
        "client_id": client.id,
        "contact_list_ids": [first.id, second.id],
        "first_name": "Ann",
        "last_name": "Kowalska",
        "phone": "+48 22 123 45 67",
        "mobile_phone": "+48 600 100 200",
        "position": "Head of purchasing",
        "description": "ąęł 😀",
        "responsible_id": acme.alice.id,
        "tags": ["vip", "new"],
    }
    response = post(acme, **fields)
    contact = acme.account.contacts.get()
    body, path = contact_body(contact, acme.bob, **fields), f"/app/contacts/{contact.id}.json"
    assert_answered(response, 201, body, location=f"http://acme.example.test{path}")
    assert_answered(json.get(path), 200, body)
    for changes in ({"note": "new"}, {"contact_list_ids": [second.id]}):
        response = put(acme, contact, **changes)
        contact.refresh_from_db()
        fields |= changes
        body = contact_body(contact, acme.bob, **fields)
        assert_answered(response, 200, body)
        assert_answered(json.get(path), 200, body)

    client_path = f"/app/clients/{client.id}.json"
    assert read(json.put(client_path, json={"client": {"contact_id": contact.id}}))["contact_id"] == contact.id
    assert_answered(json.delete(path), 200, "ok")
    for method in ("GET", "PUT", "DELETE"):
        assert_refused(json.request(method, path, json={"contact": {"name": "a"}}), 404, "not_found")
    assert json.get(f"/app/contact_lists/{second.id}.json").status_code == 200
    assert read(json.get(client_path))["contact_id"] is None


def test_it_rejects_every_error_at_once(acme):
    response = post(
        acme,
        email="a" * 256,
        client_id=10**15,
        contact_list_ids=[10**15],
        responsible_id=acme.carol.id,
        tags={"a": 1},
    )
    errors = {
        "email": ["is too long (maximum is 255 characters)"],
        "client_id": ["can't be found"],
        "contact_list_ids": [f"{10**15} can't be found"],
        "responsible_id": ["can't be found"],
        "tags": ["must be a list of names, or one text with commas"],
    }
    assert_refused(response, 422, "validation_failed", errors)
    for body in ({}, {"contact": None}, {"client": {"name": "a"}}):
        response = acme.json().post("/app/contacts.json", json=body)
        assert_refused(response, 422, "validation_failed", {"contact": ["can't be blank"]})
    assert_refused(post(acme, note="x"), 422, "validation_failed", {"name": ["can't be blank"]})
    assert not acme.account.contacts.exists()
    contact_list = make_contact_list(acme.bob)
    contact = make_contact(acme.bob, "Ann", contact_list_ids=[contact_list.id])
    assert_refused(put(acme, contact, name=""), 422, "validation_failed", {"name": ["can't be blank"]})
    response = put(acme, contact, name="b", contact_list_ids=[10**15])
    assert_refused(response, 422, "validation_failed", {"contact_list_ids": ["1000000000000000 can't be found"]})
    body = contact_body(contact, acme.bob, name="Ann", contact_list_ids=[contact_list.id])
    assert_answered(acme.json().get(f"/app/contacts/{contact.id}.json"), 200, body)


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
        # Out of the range of the database.
        *(
            ([id], f"{id} can't be found")
            for id in (2**63 - 1, 2**63, -(2**63) - 1, 10**19 - 1, 0, "9223372036854775808")
        ),
    ],
)
def test_it_rejects_invalid_ids_of_contact_lists(acme, ids, rule):
    assert_refused(post(acme, name="a", contact_list_ids=ids), 422, "validation_failed", {"contact_list_ids": [rule]})
    assert not acme.account.contacts.exists()


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
    response = post(acme, name="Jan", contact_list_ids=notation(vip.id))
    assert (response.status_code, read(response)["contact_list_ids"]) == (201, [vip.id])


def test_ids_of_lists_are_sorted_and_without_duplicates(acme):
    first, second = make_contact_list(acme.alice), make_contact_list(acme.alice)
    response = post(acme, name="a", contact_list_ids=[str(second.id), first.id, second.id])
    assert (response.status_code, read(response)["contact_list_ids"]) == (201, [first.id, second.id])


@table("empty", [None, "", [], [""]])
def test_null_and_empty_ids_of_lists(acme, empty):
    """They remove a contact from all lists. Other contacts stay."""
    contact_list = make_contact_list(acme.alice)
    contact, other = (make_contact(acme.alice, contact_list_ids=[contact_list.id]) for _ in range(2))
    assert read(post(acme, name="a", contact_list_ids=empty))["contact_list_ids"] == []
    response = put(acme, contact, contact_list_ids=empty)
    assert (response.status_code, read(response)["contact_list_ids"]) == (200, [])
    assert (list_ids(acme, contact), list_ids(acme, other)) == ([], [contact_list.id])


def test_the_client_of_a_contact_may_change(acme):
    first, second = make_client(acme.alice), make_client(acme.alice)
    contact = make_contact(acme.alice, client_id=first.id)
    for value, expected in ((str(second.id), second.id), ("", None), (first.id, first.id), (None, None)):
        response = acme.json().patch(f"/app/contacts/{contact.id}.json", json={"contact": {"client_id": value}})
        assert read(response)["client_id"] == expected
