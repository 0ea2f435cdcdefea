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
    longest = {"A-z_0.9" + "a" * 57: "😀" * 255}
    response = create(acme, kind, {"a": "1", **longest})
    assert response.status_code == 201
    row = read(response)
    assert row["external_ids"] == {"a": "1", **longest} == stored_external_ids(acme, kind, row["id"])
    # External ids are merged: other keys stay, a null removes its key.
    response = update(acme, kind, row["id"], {"a": None, "b": "2"})
    assert response.status_code == 200
    assert read(response)["external_ids"] == {**longest, "b": "2"} == stored_external_ids(acme, kind, row["id"])
    for no_change in ({}, None, {"not-there": None}, {"b": "2"}):
        assert read(update(acme, kind, row["id"], no_change))["external_ids"] == {**longest, "b": "2"}
    # Two keys may swap their values.
    update(acme, kind, row["id"], {"a": "1"})
    assert read(update(acme, kind, row["id"], {"a": "2", "b": "1"}))["external_ids"] == {**longest, "a": "2", "b": "1"}
    # Case and blanks within a value are significant.
    for other in ({"A": "2"}, {"a": "x"}, {"a": "X"}, {"a": "x x"}, {"a": "x  x"}):
        assert create(acme, kind, other).status_code == 201


OBJECT = "must be an object of key to identifier"
KEY = "key {} is not made of 1-64 letters, digits, _, . and -"
VALUE = "a must be a text of 1-255 characters"
INVALID = [
    *((value, [OBJECT]) for value in ("17", 17, True, ["a"], [{"a": "1"}])),
    *(({key: "1"}, [KEY.format(key)]) for key in ("", "a b", "ą", "٣", "a\n")),
    ({"a\x00": "1"}, [KEY.format("a\ufffd")]),
    ({"a" * 65: "1"}, [KEY.format("a" * 64)]),
    *(({"a": value}, [VALUE]) for value in ("", "  ", "1" * 256, True, [], {}, "x\x00", "\ud800")),
    ({str(number): "1" for number in range(51)}, ["are too many (maximum is 50)"]),
    ({"a b": "1", "a": "", "d": "4"}, [KEY.format("a b"), VALUE]),
]


@every_kind
def test_it_rejects_invalid_external_ids(acme, kind):
    row = MAKE[kind](acme.alice, external_ids={"kept": "1"})
    items = [{"name": "a", "external_ids": external_ids} for external_ids, _rules in INVALID]

    def send(method: str, path: str, body: dict):
        return acme.json().request(method, f"/app/{kind}s{path}.json", content=json.dumps(body))

    results = read(send("POST", "/bulk", {f"{kind}s": items}))
    assert [result["errors"]["external_ids"] for result in results] == [rules for _external_ids, rules in INVALID]
    for method, path in (("POST", ""), ("PUT", f"/{row.id}")):
        for item, (_external_ids, rules) in list(zip(items, INVALID, strict=True))[::5]:
            assert_refused(send(method, path, {kind: item}), 422, "validation_failed", {"external_ids": rules})
    assert stored_external_ids(acme, kind, row.id) == {"kept": "1"}


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
    # They are reported together with other errors.
    errors = {"name": ["can't be blank"], "external_ids": errors["external_ids"][:1]}
    assert_refused(create(acme, kind, {"a": "1"}, name=""), 422, "validation_failed", errors)
    # The check inserts nothing, so it uses no id.
    assert MAKE[kind](acme.alice).id == row.id + 1


@every_kind
def test_it_rejects_more_than_fifty_after_the_merge(acme, kind):
    row = MAKE[kind](acme.alice, external_ids={str(number): "1" for number in range(49)})
    response = update(acme, kind, row.id, {"x": "1", "y": "1"})
    assert_refused(response, 422, "validation_failed", {"external_ids": ["are too many (maximum is 50)"]})
    assert update(acme, kind, row.id, {"x": "1", "y": "1", "0": None}).status_code == 200
    assert len(stored_external_ids(acme, kind, row.id)) == 50


def test_a_number_is_stored_as_its_text(acme):
    content = json.dumps({"client": {"name": "a", "external_ids": {"a": 17}}}).replace("17", "17.50")
    response = acme.json().post("/app/clients.json", content=content)
    assert read(response)["external_ids"] == {"a": "17.50"}
    big = read(update(acme, "client", read(response)["id"], {"a": 10**20}))
    assert big["external_ids"] == {"a": "1" + "0" * 20}
    holder = make_client(acme.alice, external_ids={"b": "17"})
    errors = {"external_ids": [f"b 17 belongs to client {holder.id}"]}
    assert_refused(create(acme, "client", {"b": 17}), 422, "validation_failed", errors)


@every_kind
def test_released_external_ids_are_free(acme, kind):
    """External ids that were removed from a row, or changed, or belonged to a deleted row can be used again."""
    first = MAKE[kind](acme.alice, external_ids={"a": "1", "b": "2"})
    second = MAKE[kind](acme.alice)
    update(acme, kind, first.id, {"a": None, "b": "3"})
    assert read(update(acme, kind, second.id, {"a": "1", "b": "2"}))["external_ids"] == {"a": "1", "b": "2"}
    response = update(acme, kind, first.id, {"a": "1"})
    assert_refused(response, 422, "validation_failed", {"external_ids": [f"a 1 belongs to {kind} {second.id}"]})
    assert acme.json().delete(f"/app/{kind}s/{second.id}.json").status_code == 200
    assert create(acme, kind, {"a": "1"}).status_code == 201


def test_a_client_and_a_deal_may_have_the_same_external_id(acme):
    assert create(acme, "client", {"a": "1"}).status_code == 201
    assert create(acme, "deal", {"a": "1"}).status_code == 201
