"""External ids of clients, contacts and deals, which have the same rules."""

import json

from tests.support.assertions import assert_refused, read
from tests.support.factories import make_client, make_contact, make_deal
from tests.support.tables import table

MAKE = {"client": make_client, "contact": make_contact, "deal": make_deal}
every_kind = table("kind", MAKE)


def create(acme, kind, external_ids, **fields):
    return acme.json().post(f"/app/{kind}s.json", json={kind: {"name": "a", "external_ids": external_ids, **fields}})


def update(acme, kind, id, external_ids):
    return acme.json().put(f"/app/{kind}s/{id}.json", json={kind: {"external_ids": external_ids}})


def stored_external_ids(acme, kind, id):
    return read(acme.json().get(f"/app/{kind}s/{id}.json"))["external_ids"]


@every_kind
def test_it_works(acme, kind):
    response = create(acme, kind, {"a": "1", "myapp_client_id": "17"})
    assert response.status_code == 201
    row = read(response)
    assert row["external_ids"] == {"a": "1", "myapp_client_id": "17"}
    # External ids are merged: other keys stay, a null removes its key.
    response = update(acme, kind, row["id"], {"a": None, "b": "2"})
    assert response.status_code == 200
    assert (
        read(response)["external_ids"]
        == {"myapp_client_id": "17", "b": "2"}
        == stored_external_ids(acme, kind, row["id"])
    )
    for no_change in ({}, None, {"not-there": None}):
        response = update(acme, kind, row["id"], no_change)
        assert read(response)["external_ids"] == {"myapp_client_id": "17", "b": "2"}


@every_kind
@table(
    ("external_ids", "rule"),
    [
        ("17", "must be an object of key to identifier"),
        (17, "must be an object of key to identifier"),
        (True, "must be an object of key to identifier"),
        (["a"], "must be an object of key to identifier"),
        ([{"a": "1"}], "must be an object of key to identifier"),
        ({"": "1"}, "key  is not made of 1-64 letters, digits, _, . and -"),
        ({"a b": "1"}, "key a b is not made of 1-64 letters, digits, _, . and -"),
        ({"ą": "1"}, "key ą is not made of 1-64 letters, digits, _, . and -"),
        ({"٣": "1"}, "key ٣ is not made of 1-64 letters, digits, _, . and -"),
        ({"a\n": "1"}, "key a\n is not made of 1-64 letters, digits, _, . and -"),
        ({"a\x00": "1"}, "key a\ufffd is not made of 1-64 letters, digits, _, . and -"),
        ({"a" * 65: "1"}, "key " + "a" * 64 + " is not made of 1-64 letters, digits, _, . and -"),
        ({"a": ""}, "a must be a text of 1-255 characters"),
        ({"a": "  "}, "a must be a text of 1-255 characters"),
        ({"a": "1" * 256}, "a must be a text of 1-255 characters"),
        ({"a": True}, "a must be a text of 1-255 characters"),
        ({"a": []}, "a must be a text of 1-255 characters"),
        ({"a": {}}, "a must be a text of 1-255 characters"),
        ({"a": "x\x00"}, "a must be a text of 1-255 characters"),
        ({"a": "\ud800"}, "a must be a text of 1-255 characters"),
        ({str(number): "1" for number in range(51)}, "are too many (maximum is 50)"),
    ],
)
def test_it_rejects_invalid_external_ids(acme, kind, external_ids, rule):
    row = MAKE[kind](acme.alice, external_ids={"kept": "1"})
    content = json.dumps({kind: {"name": "a", "external_ids": external_ids}})
    client = acme.json()
    for method, path in (("POST", f"/app/{kind}s.json"), ("PUT", f"/app/{kind}s/{row.id}.json")):
        response = client.request(method, path, content=content)
        assert_refused(response, 422, "validation_failed", {"external_ids": [rule]})
    assert stored_external_ids(acme, kind, row.id) == {"kept": "1"}


@every_kind
def test_it_rejects_every_invalid_pair_at_once(acme, kind):
    response = create(acme, kind, {"a b": "1", "c": "", "d": "4"})
    assert_refused(
        response,
        422,
        "validation_failed",
        {
            "external_ids": [
                "key a b is not made of 1-64 letters, digits, _, . and -",
                "c must be a text of 1-255 characters",
            ]
        },
    )


@every_kind
def test_it_rejects_external_ids_of_other_rows(acme, kind):
    first = MAKE[kind](acme.alice, external_ids={"a": "1", "b": "x"})
    second = MAKE[kind](acme.alice, external_ids={"b": "2"})
    row = MAKE[kind](acme.alice, external_ids={"a": "2"})
    errors = {"external_ids": [f"a 1 belongs to {kind} {first.id}", f"b 2 belongs to {kind} {second.id}"]}
    # Pairs are unique: `a` and `2` are both in use, but not together.
    taken = {"a": "1", "b": "2", "c": "1"}
    assert_refused(create(acme, kind, taken), 422, "validation_failed", errors)
    assert_refused(update(acme, kind, row.id, taken), 422, "validation_failed", errors)
    assert stored_external_ids(acme, kind, row.id) == {"a": "2"}


@every_kind
def test_taken_external_ids_are_reported_together_with_other_errors(acme, kind):
    row = MAKE[kind](acme.alice, external_ids={"a": "1"})
    errors = {"name": ["can't be blank"], "external_ids": [f"a 1 belongs to {kind} {row.id}"]}
    assert_refused(create(acme, kind, {"a": "1"}, name=""), 422, "validation_failed", errors)
    # The check inserts nothing, so it uses no id.
    assert_refused(create(acme, kind, {"a": "1"}), 422, "validation_failed", {"external_ids": errors["external_ids"]})
    assert MAKE[kind](acme.alice).id == row.id + 1


@every_kind
def test_it_rejects_more_than_fifty_after_the_merge(acme, kind):
    row = MAKE[kind](acme.alice, external_ids={str(number): "1" for number in range(49)})
    response = update(acme, kind, row.id, {"x": "1", "y": "1"})
    assert_refused(response, 422, "validation_failed", {"external_ids": ["are too many (maximum is 50)"]})
    assert update(acme, kind, row.id, {"x": "1", "y": "1", "0": None}).status_code == 200
    assert len(stored_external_ids(acme, kind, row.id)) == 50


@every_kind
def test_longest_keys_and_values(acme, kind):
    external_ids = {"A-z_0.9" + "a" * 57: "😀" * 255}
    response = create(acme, kind, external_ids)
    assert response.status_code == 201
    assert stored_external_ids(acme, kind, read(response)["id"]) == external_ids


@every_kind
def test_a_number_is_stored_as_its_text(acme, kind):
    content = json.dumps({kind: {"name": "a", "external_ids": {"a": 17}}}).replace("17", "17.50")
    response = acme.json().post(f"/app/{kind}s.json", content=content)
    assert read(response)["external_ids"] == {"a": "17.50"}
    assert read(update(acme, kind, read(response)["id"], {"a": 10**20}))["external_ids"] == {"a": "1" + "0" * 20}
    holder = MAKE[kind](acme.alice, external_ids={"b": "17"})
    assert_refused(
        create(acme, kind, {"b": 17}),
        422,
        "validation_failed",
        {"external_ids": [f"b 17 belongs to {kind} {holder.id}"]},
    )


@every_kind
def test_a_row_may_keep_and_swap_its_own_external_ids(acme, kind):
    row = MAKE[kind](acme.alice, external_ids={"a": "1"})
    assert update(acme, kind, row.id, {"a": "1"}).status_code == 200
    # Two keys may swap their values.
    update(acme, kind, row.id, {"b": "2"})
    assert read(update(acme, kind, row.id, {"a": "2", "b": "1"}))["external_ids"] == {"a": "2", "b": "1"}


@every_kind
def test_removed_and_changed_external_ids_are_free(acme, kind):
    first = MAKE[kind](acme.alice, external_ids={"a": "1", "b": "2"})
    second = MAKE[kind](acme.alice)
    update(acme, kind, first.id, {"a": None, "b": "3"})
    assert read(update(acme, kind, second.id, {"a": "1", "b": "2"}))["external_ids"] == {"a": "1", "b": "2"}
    response = update(acme, kind, first.id, {"a": "1"})
    assert_refused(response, 422, "validation_failed", {"external_ids": [f"a 1 belongs to {kind} {second.id}"]})


@every_kind
def test_external_ids_of_a_deleted_row_are_free(acme, kind):
    first = MAKE[kind](acme.alice, external_ids={"a": "1"})
    assert acme.json().delete(f"/app/{kind}s/{first.id}.json").status_code == 200
    assert create(acme, kind, {"a": "1"}).status_code == 201


@every_kind
def test_case_and_spaces_are_significant(acme, kind):
    for external_ids in ({"a": "x"}, {"A": "x"}, {"a": "X"}, {"a": "x x"}, {"a": "x  x"}):
        assert create(acme, kind, external_ids).status_code == 201


def test_a_client_and_a_deal_may_have_the_same_external_id(acme):
    assert create(acme, "client", {"a": "1"}).status_code == 201
    assert create(acme, "deal", {"a": "1"}).status_code == 201
