"""Form bodies in bracket notation, with a token."""

from decimal import Decimal

import pytest
from rest_framework.exceptions import ParseError

from core.http.formats import nest
from tests.support.assertions import assert_refused, read
from tests.support.client import JSONClient
from tests.support.factories import make_client, make_contact_list
from tests.support.settings import token_of
from tests.support.tables import table

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def post(acme, content, *, token=True, **headers):
    client = acme.json() if token else JSONClient(acme.host)
    return client.post("/app/clients.json", content=content, headers={**FORM, **headers})


def test_it_works(acme):
    response = post(
        acme, "client[name]=Ann+K%C5%82os&client[tags][]=vip&client[tags][]=new&client[company]=1&client[discount]=2.5"
    )
    assert response.status_code == 201
    body = read(response)
    assert body["name"] == "Ann Kłos"
    assert sorted(body["tags"]) == ["new", "vip"]
    assert (body["company"], body["discount"]) == (True, Decimal("2.5"))


def test_a_form_with_token_and_external_ids(acme):
    token = acme.bob_token.replace("/", "%2F")
    response = post(
        acme, f"api_token={token}&client[name]=Ann&client[external_ids][shop]=5&utf8=%E2%9C%93", token=False
    )
    assert response.status_code == 201
    assert read(response)["external_ids"] == {"shop": "5"}
    assert response.headers["X-Ignored-Fields"] == "utf8"


def test_a_multipart_form(acme):
    """A browser sends an empty part for an empty file field."""
    vip = make_contact_list(acme.alice, "VIP")
    files = [
        ("contact[name]", (None, "Łukasz")),
        ("contact[contact_list_ids][]", (None, "")),
        ("contact[contact_list_ids][]", (None, str(vip.id))),
        ("contact[photo]", ("", b"")),
    ]
    response = acme.json().post("/app/contacts.json", files=files)
    assert response.status_code == 201
    assert (read(response)["name"], read(response)["contact_list_ids"]) == ("Łukasz", [vip.id])


@table(
    ("charset", "content"), [("iso-8859-2", "client[name]=%A3%F3d%BC"), ("windows-1250", b"client[name]=\xa3\xf3d\x9f")]
)
def test_charsets_of_forms(acme, charset, content):
    response = post(acme, content, **{"Content-Type": f"application/x-www-form-urlencoded; charset={charset}"})
    assert read(response)["name"] == "Łódź"


def test_updates_and_deletions_by_forms(acme):
    client = make_client(acme.alice, "Ann", note="first")
    path = f"/app/clients/{client.id}.json"
    response = acme.json().put(path, content="client[note]=", headers=FORM)
    assert (response.status_code, read(response)["name"], read(response)["note"]) == (200, "Ann", "")
    response = JSONClient(acme.host).request("DELETE", path, content=f"api_token={acme.bob_token}", headers=FORM)
    assert (response.status_code, read(response)) == (200, "ok")


@table(
    ("content", "message"),
    [
        ("client=1&client[name]=a", "The form gives client[name] two kinds of values"),
        ("client[name]=a&client[]=1", "The form gives client[] two kinds of values"),
        ("client[name]=a&client=1", "The form gives client two kinds of values"),
        ("a" + "[a]" * 8 + "=1", "The form has a name that is nested too deeply (maximum is 8)"),
        ("client[name]=%FF", "The form is not in UTF-8"),
        (b"client[name]=\xb3", "The form is not in UTF-8"),
        ("&".join(f"client[a{n}]=" for n in range(1001)), "The request can't be read"),
    ],
)
def test_it_rejects_unreadable_forms(acme, content, message):
    assert_refused(post(acme, content), 400, "bad_request", message=message)
    assert not acme.account.clients.exists()


def test_it_rejects_unreadable_multipart_forms(acme):
    def send(content, content_type="multipart/form-data; boundary=x"):
        return acme.json().post("/app/clients.json", content=content, headers={"Content-Type": content_type})

    part = b'--x\r\nContent-Disposition: form-data; name="client[name]"\r\n\r\n%s\r\n--x--\r\n'
    assert send(part % "Łódź".encode()).status_code == 201
    assert send(part % "\ufffd".encode()).status_code == 201
    assert_refused(send(part % b"\xff"), 400, "bad_request", message="The form is not in UTF-8")
    response = send(part % b"a", "multipart/form-data")
    assert_refused(response, 400, "bad_request", message="The form can't be read: Invalid boundary in multipart: None")


def test_it_rejects_a_file(acme):
    response = acme.json().post(
        "/app/clients.json", files={"client[logo]": ("logo.png", b"123")}, data={"client[name]": "a"}
    )
    assert_refused(response, 422, "validation_failed", {"client[logo]": ["can't be a file"]})


def test_it_rejects_invalid_values_like_json(acme):
    response = post(acme, "client[name]=&client[discount]=a+lot&client[tags][a][b]=1")
    tags = ["must be a list of names, or one text with commas"]
    errors = {"name": ["can't be blank"], "discount": ["is not a number"], "tags": tags}
    assert_refused(response, 422, "validation_failed", errors)


def test_it_rejects_a_form_with_a_session_cookie(acme):
    """A form needs a token: another site's page could make the browser send a form with the session cookie."""
    bob = acme.page(acme.bob)
    headers = {"X-CSRFToken": token_of(bob)}
    response = bob.post("/app/clients.json", {"client[name]": "a"}, headers=headers, status=403)
    assert response.json["message"] == "A form, or another method in the place of POST, needs an api_token"
    assert not acme.account.clients.exists()


def test_it_rejects_a_form_without_a_token(acme):
    for headers in ({}, {"Authorization": "Basic YWxpY2U6cGFzc3dvcmQ="}):
        assert_refused(post(acme, "client[name]=a", token=False, **headers), 401, "unauthenticated")


@table(
    ("pairs", "expected"),
    [
        ([("a", "1"), ("a", "2")], {"a": "2"}),
        ([("a[]", "1"), ("a[]", "2")], {"a": ["1", "2"]}),
        ([("a[b][c]", "1"), ("a[b][d]", "2")], {"a": {"b": {"c": "1", "d": "2"}}}),
        ([("a[][b]", "1"), ("a[][c]", "2"), ("a[][b]", "3")], {"a": [{"b": "1", "c": "2"}, {"b": "3"}]}),
        (
            [("a[][b][c]", "1"), ("a[][b][d]", "2"), ("a[][b][c]", "3")],
            {"a": [{"b": {"c": "1", "d": "2"}}, {"b": {"c": "3"}}]},
        ),
        ([("a[", "1"), ("[]", "2"), ("", "3"), ("a]b", "4")], {"a[": "1", "[]": "2", "": "3", "a]b": "4"}),
    ],
)
def test_names_in_bracket_notation(pairs, expected):
    assert nest(pairs) == expected


@table("names", [("a[][]",), ("a[]", "a[b]"), ("a[]", "a[][b]"), ("a[][b]", "a[]", "a[][b]"), ("a", "a[]")])
def test_it_rejects_contradictory_names(names):
    with pytest.raises(ParseError):
        nest((name, "1") for name in names)
