"""POST requests that override their method with PUT, PATCH or DELETE. They need a token."""

import pytest

from tests.support.assertions import assert_refused, read
from tests.support.client import JSONClient
from tests.support.factories import make_client
from tests.support.settings import token_of
from tests.support.tables import table


@pytest.fixture
def ann(acme):
    return make_client(acme.alice, "Ann", note="first")


# The arguments of a POST request, by the place of the overriding method.
REQUESTS = {
    "in the body": lambda path, method: {"url": path, "json": {"_method": method, "client": {"note": "second"}}},
    "in the query": lambda path, method: {"url": f"{path}?_method={method}", "json": {"client": {"note": "second"}}},
    "in a form": lambda path, method: {"url": path, "data": {"_method": method, "client[note]": "second"}},
    "in a header": lambda path, method: {
        "url": path,
        "json": {"client": {"note": "second"}},
        "headers": {"X-HTTP-Method-Override": method},
    },
}


@table("place", REQUESTS)
def test_it_works(acme, ann, place):
    for method in ("put", "PUT", "Patch"):
        response = acme.json().post(**REQUESTS[place](f"/app/clients/{ann.id}.json", method))
        assert (response.status_code, read(response)["note"]) == (200, "second")
        assert "X-Ignored-Fields" not in response.headers
    response = acme.json().post(**REQUESTS[place](f"/app/clients/{ann.id}.json", "delete"))
    assert (response.status_code, read(response)) == (200, "ok")
    assert acme.json().get(f"/app/clients/{ann.id}.json").status_code == 404


@table("method", ["", "post", "POST"])
def test_a_post_without_another_method_stays_a_post(acme, method):
    response = acme.json().post("/app/clients.json", json={"_method": method, "client": {"name": "Jan"}})
    assert response.status_code == 201


def test_the_body_of_an_overridden_delete_may_contain_the_token(acme, ann):
    body = {"_method": "delete", "api_token": acme.bob_token}
    assert JSONClient(acme.host).post(f"/app/clients/{ann.id}.json", json=body).status_code == 200


def test_a_post_may_be_a_put_by_external_id(acme):
    make_client(acme.alice, "Ann", external_ids={"shop": "5"})
    response = acme.json().post("/app/clients.json?external_ids[shop]=5&_method=put", json={"client": {"name": "Jan"}})
    assert (response.status_code, read(response)["name"]) == (200, "Jan")


def test_it_rejects_other_methods(acme, ann):
    rule = "is not one of PUT, PATCH, DELETE"
    requests = [*((place, "get") for place in REQUESTS), ("in the body", "ł"), ("in a form", "put,delete")]
    for place, method in (*requests, *(("in the query", method) for method in ("head", "options", "PUTT"))):
        response = acme.json().post(**REQUESTS[place](f"/app/clients/{ann.id}.json", method))
        assert_refused(response, 422, "validation_failed", {"_method": [rule]}, message=f"Method {rule}")
    # The path does not allow the method.
    response = acme.json().post("/app/contact_lists.json", json={"_method": "delete"})
    assert_refused(response, 405, "method_not_allowed", allow="GET, HEAD, POST")


@table("method", ["GET", "PUT", "DELETE"])
def test_only_post_can_be_overridden(acme, ann, method):
    response = acme.json().request(
        method,
        f"/app/clients/{ann.id}.json?_method=delete",
        json={"client": {"note": "second"}},
        headers={"X-HTTP-Method-Override": "PATCH"},
    )
    assert response.status_code == 200
    assert acme.account.clients.filter(id=ann.id, trashed_at=None).exists() == (method != "DELETE")


def test_it_rejects_an_override_with_a_session_cookie(acme, ann):
    bob = acme.page(acme.bob)
    headers = {"X-CSRFToken": token_of(bob), "X-HTTP-Method-Override": "DELETE"}
    response = bob.post_json(f"/app/clients/{ann.id}.json", {}, headers=headers, status=403)
    assert response.json["message"] == "A form, or another method in the place of POST, needs an api_token"
    assert acme.json().get(f"/app/clients/{ann.id}.json").status_code == 200


def test_the_xml_api_ignores_overrides(acme):
    response = acme.xml().post(
        "/app/posts.xml?_method=delete",
        content=b"<post><title>a</title></post>",
        headers={"Content-Type": "application/xml", "X-HTTP-Method-Override": "DELETE"},
    )
    assert response.status_code == 201
