from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import contact_list_body
from tests.support.factories import make_contact, make_contact_list


def test_it_works(acme):
    client = acme.json()
    response = client.post("/app/contact_lists.json", json={"contact_list": {"name": "Newsletter"}})
    row = acme.account.contact_lists.get()
    body, path = contact_list_body(row, name="Newsletter"), f"/app/contact_lists/{row.id}.json"
    assert_answered(response, 201, body, location=f"http://acme.example.test{path}")
    assert_answered(client.get(path), 200, body)

    # A list may keep its own name.
    for name in ("News", "News"):
        response = client.put(path, json={"contact_list": {"name": name}})
        row.refresh_from_db()
        body = contact_list_body(row, name=name)
        assert_answered(response, 200, body)
        assert_answered(client.get(path), 200, body)

    assert_answered(client.delete(path), 200, "ok")
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        for id in (row.id, 10**15):
            response = client.request(method, f"/app/contact_lists/{id}.json", json={"contact_list": {"name": "a"}})
            assert_refused(response, 404, "not_found")
    # The name of a list in the trash is free.
    assert client.post("/app/contact_lists.json", json={"contact_list": {"name": "News"}}).status_code == 201


def test_it_rejects_invalid_names(acme):
    make_contact_list(acme.alice, "Taken")
    contact_list = make_contact_list(acme.alice, "Other")
    client = acme.json()
    for name, rule in (
        (None, "can't be blank"),
        ("", "can't be blank"),
        (" \t\n", "can't be blank"),
        ("a" * 256, "is too long (maximum is 255 characters)"),
        ([], "must be a single value"),
        ({}, "must be a single value"),
        (True, "must be a text"),
        ("Taken", "is already taken"),
    ):
        for response in (
            client.post("/app/contact_lists.json", json={"contact_list": {"name": name}}),
            client.put(f"/app/contact_lists/{contact_list.id}.json", json={"contact_list": {"name": name}}),
        ):
            assert_refused(response, 422, "validation_failed", {"name": [rule]})
    assert sorted(acme.account.contact_lists.values_list("name", flat=True)) == ["Other", "Taken"]
    for body, field in (({"contact_list": {}}, "name"), ({"name": "a"}, "contact_list")):
        response = client.post("/app/contact_lists.json", json=body)
        assert_refused(response, 422, "validation_failed", {field: ["can't be blank"]})


def test_contacts_of_a_deleted_list_are_kept(acme):
    contact_list = make_contact_list(acme.alice)
    contact = make_contact(acme.alice, "Ann", contact_list_ids=[contact_list.id])
    acme.json().delete(f"/app/contact_lists/{contact_list.id}.json")
    body = read(acme.json().get(f"/app/contacts/{contact.id}.json"))
    assert (body["name"], body["contact_list_ids"]) == ("Ann", [])


def test_members_and_tags_of_a_list_are_ignored(acme):
    """A list may have too many members to send, so it does not accept them. It has no tags."""
    contact = make_contact(acme.alice)
    fields = {"name": "News", "contact_ids": [contact.id], "tags": ["a"]}
    response = acme.json().post("/app/contact_lists.json", json={"contact_list": fields})
    assert (response.status_code, response.headers["X-Ignored-Fields"]) == (201, "contact_ids,tags")
    assert read(acme.json().get(f"/app/contacts/{contact.id}.json"))["contact_list_ids"] == []
