"""Conditional requests, compression and caching in both APIs (RFC 9110, RFC 9111)."""

import pytest

from tests.support.assertions import read
from tests.support.factories import make_client, make_post
from tests.support.tables import table

PRIVATE = "private, no-store"


@pytest.fixture(params=["json", "xml"])
def client_and_paths(request, acme):
    """Return a client of either API, the path of a resource and the path of a list."""
    if request.param == "json":
        row = make_client(acme.alice, note="a word " * 300)
        return acme.json(), f"/app/clients/{row.id}.json", "/app/clients.json"
    row = make_post(acme.alice, content="a word " * 300)
    return acme.xml(), f"/app/posts/{row.id}.xml", "/"


def test_it_works(client_and_paths, settings):
    settings.RATE_LIMIT = 600
    client, *paths = client_and_paths
    for path in paths:
        response = client.get(path)
        etag = response.headers["ETag"]
        assert response.headers["Cache-Control"] == PRIVATE
        for method in ("GET", "HEAD"):
            not_modified = client.request(method, path, headers={"If-None-Match": etag})
            assert (not_modified.status_code, not_modified.content) == (304, b"")
            assert not_modified.headers["ETag"] == etag
            assert not_modified.headers["Cache-Control"] == PRIVATE
            assert "RateLimit-Remaining" in not_modified.headers
        response_to_two_etags = client.get(path, headers={"If-None-Match": f'"other", {etag}'})
        assert response_to_two_etags.status_code == 304
        assert client.get(path, headers={"If-None-Match": '"other"'}).content == response.content


def test_every_version_has_its_own_etag(acme, other):
    """Permissions are checked before the entity tag, so it gives no access to other users."""
    row = make_client(acme.alice)
    path = f"/app/clients/{row.id}.json"
    etag = acme.json().get(path).headers["ETag"]
    headers = {"If-None-Match": etag}
    assert other.json().get(path, headers=headers).status_code == 404
    assert acme.json("wrong").get(path, headers=headers).status_code == 401
    assert acme.json().get(path, headers={"If-None-Match": "*"}).status_code == 304
    row.write({"note": "new"}, by=acme.alice)
    response = acme.json().get(path, headers=headers)
    assert (response.status_code, read(response)["note"]) == (200, "new")
    assert response.headers["ETag"] != etag


def test_responses_are_compressed_for_clients_that_accept_gzip(client_and_paths):
    client, *paths = client_and_paths
    for path in paths:
        plain = client.get(path)
        assert "Content-Encoding" not in plain.headers
        compressed = client.get(path, headers={"Accept-Encoding": "br, gzip"})
        assert compressed.headers["Content-Encoding"] == "gzip"
        assert int(compressed.headers["Content-Length"]) < int(plain.headers["Content-Length"])
        assert compressed.content == plain.content
        assert compressed.headers["ETag"] == plain.headers["ETag"][:-1] + '-gzip"'
        assert "Accept-Encoding" in compressed.headers["Vary"]
        for etag in (plain.headers["ETag"], compressed.headers["ETag"]):
            assert client.get(path, headers={"If-None-Match": etag}).status_code == 304


def test_a_short_response_is_not_compressed(acme):
    response = acme.json().get("/app/clients/tags.json", headers={"Accept-Encoding": "gzip"})
    assert (response.text, response.headers.get("Content-Encoding")) == ("[]", None)


@table(
    ("method", "path"),
    [
        ("GET", "/app/clients/1.json"),
        ("POST", "/app/clients.json"),
        ("GET", "/app/posts/1.xml"),
        ("GET", "/nothing.xml"),
    ],
)
def test_errors_are_not_cacheable(acme, method, path):
    client = acme.json() if path.endswith(".json") else acme.xml()
    response = client.request(method, path, headers={"If-None-Match": "*", "Accept-Encoding": "gzip"})
    assert response.status_code in (404, 422)
    assert response.headers["Cache-Control"] == PRIVATE
    assert "ETag" not in response.headers


def test_responses_to_creates_have_no_etag_and_no_compression(acme):
    body = {"client": {"name": "a", "note": "a word " * 300}}
    response = acme.json().post("/app/clients.json", json=body, headers={"Accept-Encoding": "gzip"})
    assert response.status_code == 201
    assert response.headers["Cache-Control"] == PRIVATE
    assert "ETag" not in response.headers
    assert "Content-Encoding" not in response.headers
