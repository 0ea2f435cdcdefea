from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import contact_list_body
from tests.support.factories import make_contact, make_contact_list
from tests.support.tables import table


def test_it_works(acme):
    client = acme.json()
    response = client.post("/app/contact_lists.json", json={"contact_list": {"name": "Newsletter"}})
    row = acme.account.contact_lists.get()
    body = contact_list_body(row, name="Newsletter")
    assert_answered(response, 201, body, location=f"http://acme.example.test/app/contact_lists/{row.id}.json")
    assert_answered(client.get(f"/app/contact_lists/{row.id}.json"), 200, body)

    response = client.put(f"/app/contact_lists/{row.id}.json", json={"contact_list": {"name": "News"}})
    row.refresh_from_db()
    body = contact_list_body(row, name="News")
    assert_answered(response, 200, body)
    assert_answered(client.get(f"/app/contact_lists/{row.id}.json"), 200, body)

    assert_answered(client.delete(f"/app/contact_lists/{row.id}.json"), 200, "ok")
    assert_refused(client.get(f"/app/contact_lists/{row.id}.json"), 404, "not_found")


@table(
    ("name", "rule"),
    [
        (None, "can't be blank"),
        ("", "can't be blank"),
        (" \t\n", "can't be blank"),
        ("a" * 256, "is too long (maximum is 255 characters)"),
        ([], "must be a single value"),
        ({}, "must be a single value"),
        (True, "must be a text"),
        ("Taken", "is already taken"),
    ],
)
def test_it_rejects_invalid_names(acme, name, rule):
    make_contact_list(acme.alice, "Taken")
    contact_list = make_contact_list(acme.alice, "Other")
    client = acme.json()
    for response in (
        client.post("/app/contact_lists.json", json={"contact_list": {"name": name}}),
        client.put(f"/app/contact_lists/{contact_list.id}.json", json={"contact_list": {"name": name}}),
    ):
        assert_refused(response, 422, "validation_failed", {"name": [rule]})
    assert sorted(acme.account.contact_lists.values_list("name", flat=True)) == ["Other", "Taken"]


def test_it_rejects_a_list_without_a_name(acme):
    response = acme.json().post("/app/contact_lists.json", json={"contact_list": {}})
    assert_refused(response, 422, "validation_failed", {"name": ["can't be blank"]})


def test_it_rejects_a_body_without_a_contact_list(acme):
    response = acme.json().post("/app/contact_lists.json", json={"name": "a"})
    assert_refused(response, 422, "validation_failed", {"contact_list": ["can't be blank"]})


@table("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_it_rejects_unknown_and_trashed_lists(acme, method):
    trashed = make_contact_list(acme.alice)
    trashed.trash(by=acme.alice)
    for id in (trashed.id, 10**15):
        response = acme.json().request(method, f"/app/contact_lists/{id}.json", json={"contact_list": {"name": "a"}})
        assert_refused(response, 404, "not_found")


def test_it_rejects_other_methods(acme):
    row = make_contact_list(acme.alice)
    response = acme.json().post(f"/app/contact_lists/{row.id}.json", json={})
    assert_refused(response, 405, "method_not_allowed", allow="GET, HEAD, PUT, PATCH, DELETE")
    assert_refused(
        acme.json().put("/app/contact_lists.json", json={}), 405, "method_not_allowed", allow="GET, HEAD, POST"
    )


def test_a_list_may_keep_its_own_name(acme):
    row = make_contact_list(acme.alice, "Mine")
    response = acme.json().put(f"/app/contact_lists/{row.id}.json", json={"contact_list": {"name": "Mine"}})
    assert response.status_code == 200


def test_the_name_of_a_trashed_list_is_free(acme):
    make_contact_list(acme.alice, "News").trash(by=acme.alice)
    response = acme.json().post("/app/contact_lists.json", json={"contact_list": {"name": "News"}})
    assert response.status_code == 201


def test_contacts_of_a_deleted_list_are_kept(acme):
    contact_list = make_contact_list(acme.alice)
    contact = make_contact(acme.alice, "Ann", contact_list_ids=[contact_list.id])
    acme.json().delete(f"/app/contact_lists/{contact_list.id}.json")
    body = read(acme.json().get(f"/app/contacts/{contact.id}.json"))
    assert (body["name"], body["contact_list_ids"]) == ("Ann", [])


def test_contact_ids_of_a_list_are_ignored(acme):
    """A list may have too many members to send, so it does not accept them."""
    contact = make_contact(acme.alice)
    response = acme.json().post(
        "/app/contact_lists.json", json={"contact_list": {"name": "News", "contact_ids": [contact.id]}}
    )
    assert response.status_code == 201
    assert response.headers["X-Ignored-Fields"] == "contact_ids"
    assert read(acme.json().get(f"/app/contacts/{contact.id}.json"))["contact_list_ids"] == []
