"""Unknown and read-only fields are ignored and reported. With `Prefer: handling=strict` they are errors."""

import json
from urllib.parse import unquote

from tests.support.assertions import assert_refused, read
from tests.support.factories import make_client
from tests.support.tables import table


def post(acme, fields, *, prefer=None, **others):
    headers = {} if prefer is None else {"Prefer": prefer}
    return acme.json().post("/app/clients.json", content=json.dumps({"client": fields, **others}), headers=headers)


def test_it_works(acme):
    response = post(acme, {"id": 7, "name": "a", "colour": "red", "created_at": "2009-01-26"}, extra=1, api=None)
    assert response.status_code == 201
    assert response.headers["X-Ignored-Fields"] == "extra,api,id,colour,created_at"
    assert read(response)["id"] != 7
    assert not read(response)["created_at"].startswith("2009")


@table("prefer", ["handling=strict", "Handling = Strict", 'handling="strict"', "wait=5, handling=strict"])
def test_it_rejects_ignored_fields_under_strict_handling(acme, prefer):
    response = post(acme, {"id": 7, "name": "", "colour": "red"}, prefer=prefer, extra=1)
    rule = ["is not a field that can be set"]
    assert_refused(
        response,
        422,
        "validation_failed",
        {"name": ["can't be blank"], "extra": rule, "id": rule, "colour": rule},
    )
    assert not acme.account.clients.exists()


@table("prefer", ["handling=lenient", "strict", "xhandling=strict", "return=minimal", ""])
def test_other_preferences_change_nothing(acme, prefer):
    response = post(acme, {"name": "a", "colour": "red"}, prefer=prefer)
    assert response.status_code == 201
    assert response.headers["X-Ignored-Fields"] == "colour"


def test_strict_handling_accepts_known_fields(acme):
    response = post(acme, {"name": "a"}, prefer="handling=strict", api_token=acme.bob_token)
    assert response.status_code == 201
    assert "X-Ignored-Fields" not in response.headers


def test_ignored_fields_of_updates(acme):
    client = make_client(acme.alice, "Old")
    path, body = f"/app/clients/{client.id}.json", {"client": {"nmae": "New", "creator_id": 1}}
    for method in ("PUT", "PATCH"):
        response = acme.json().request(method, path, json=body)
        assert (response.status_code, response.headers["X-Ignored-Fields"]) == (200, "nmae,creator_id")
        assert read(response)["name"] == "Old"
        response = acme.json().request(method, path, json=body, headers={"Prefer": "handling=strict"})
        rule = ["is not a field that can be set"]
        assert_refused(response, 422, "validation_failed", {"nmae": rule, "creator_id": rule})


def test_the_header_contains_the_first_twenty_names(acme):
    response = post(acme, {"name": "a", **{f"x{number}": 1 for number in range(30)}})
    assert response.headers["X-Ignored-Fields"] == ",".join(f"x{number}" for number in range(20))


@table("character", ["a", "ą", "😀"])
def test_long_names_are_truncated_and_the_header_stays_short(acme, character):
    names = [f"{number:02}" + character * 3000 for number in range(20)]
    response = post(acme, {"name": "a", **dict.fromkeys(names, 1)})
    assert response.status_code == 201
    header = response.headers["X-Ignored-Fields"]
    assert len(header) < 2000
    reported = unquote(header).split(",")
    assert reported == [name[:64] for name in names[: len(reported)]]
    assert len(reported) == {"a": 20, "ą": 5, "😀": 2}[character]


@table(
    ("name", "encoded"),
    [
        ("a,b", "a%2Cb"),
        ("a b", "a%20b"),
        ("ą", "%C4%85"),
        ("a\r\nSet-Cookie: x=1", "a%0D%0ASet-Cookie%3A%20x%3D1"),
        ("\x00", "%00"),
        ("a/b", "a%2Fb"),
        ("\ud800", "%3F"),
    ],
)
def test_names_are_percent_encoded(acme, name, encoded):
    response = post(acme, {"name": "a", name: 1})
    assert response.status_code == 201
    assert response.headers["X-Ignored-Fields"] == encoded
    response = post(acme, {"name": "a", name: 1}, prefer="handling=strict")
    assert response.status_code == 422
    assert list(read(response)["errors"].values()) == [["is not a field that can be set"]]


def test_read_only_fields_of_a_post(acme):
    fields = {"nick": "x", "agent": "x", "votes_cache": 9, "comments_cache": 9, "points": 9}
    fields |= {"response_user_id": 1, "duplicate_from_id": 1, "post_id": 1}
    response = acme.json().post("/app/posts.json", json={"post": {"task_kind": "task", "title": "a", **fields}})
    assert response.headers["X-Ignored-Fields"] == ",".join(fields)
    body = read(response)
    assert [body[name] for name in fields] == ["Bob Nowak", "tests/1.0", 0, 0, 0, None, None, None]
