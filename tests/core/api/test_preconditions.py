"""Conditional writes in both APIs: If-Match, If-Unmodified-Since and If-None-Match of PUT, PATCH and DELETE."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils.http import http_date

from core.http.preconditions import matches
from crm.clients.models import Client
from forum.posts.models import Post
from tests.support.assertions import assert_refused, read
from tests.support.client import JSONClient
from tests.support.factories import make_client, make_post
from tests.support.tables import table
from tests.support.threads import at_once

OLD = '"0123456789abcdef01234567"'


@pytest.fixture
def client(acme):
    client = make_client(acme.alice, "Ann")
    Client.objects.update(updated_at=datetime(2026, 11, 20, 12, 0, 0, 400_000, UTC))
    client.refresh_from_db()
    return client


def path_of(client):
    return f"/app/clients/{client.id}.json"


def put(acme, client, method="PUT", **headers):
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return acme.json().request(method, path_of(client), json={"client": {"name": "Eve"}}, headers=names)


def assert_failed(response):
    assert_refused(response, 412, "precondition_failed")


@table("method", ["PUT", "PATCH", "DELETE"])
def test_it_works(acme, client, method):
    response = acme.json().get(path_of(client), headers={"Accept-Encoding": "identity"})
    etag = response.headers["ETag"]
    assert etag.startswith('"')
    assert response.headers["Last-Modified"] == "Fri, 20 Nov 2026 12:00:00 GMT"
    assert_failed(put(acme, client, method, If_Match=OLD))
    assert_failed(put(acme, client, method, If_Unmodified_Since="Fri, 20 Nov 2026 11:59:59 GMT"))
    client.refresh_from_db()
    assert (client.name, client.trashed_at) == ("Ann", None)
    assert put(acme, client, method, If_Match=f"{OLD}, {etag}").status_code == 200
    if method != "DELETE":
        # The tag is no longer current.
        assert_failed(put(acme, client, method, If_Match=etag))
        assert acme.json().get(path_of(client)).headers["ETag"] != etag


@table(
    ("text", "strong", "weak"),
    [
        ('"a"', True, True),
        ('W/"a"', False, True),
        ('"b", "a"', True, True),
        ('"b",W/"a"', False, True),
        ('"a-gzip"', True, True),
        ('"b"', False, False),
        ("*", True, True),
        ('"*"', False, False),
        ("a", False, False),
        ("", False, False),
    ],
)
def test_tags(text, strong, weak):
    assert matches(text, '"a"') is strong
    assert matches(text, '"a"', weakly=True) is weak
    assert not matches(text, None)


@table(
    ("headers", "status"),
    [
        ({"If_Match": "*"}, 200),
        ({"If_Match": 'W/"a"'}, 412),
        ({"If_Unmodified_Since": "Fri, 20 Nov 2026 12:00:00 GMT"}, 200),
        ({"If_Unmodified_Since": "Friday, 20-Nov-26 12:00:00 GMT"}, 200),
        ({"If_Unmodified_Since": "Fri Nov 20 11:00:00 2026"}, 412),
        ({"If_Unmodified_Since": "yesterday"}, 200),
        ({"If_Unmodified_Since": "2026-11-20T11:00:00Z"}, 200),
        # If-Match makes the server ignore the date.
        ({"If_Match": "*", "If_Unmodified_Since": "Fri, 20 Nov 2026 11:00:00 GMT"}, 200),
        ({"If_Match": OLD, "If_Unmodified_Since": "Fri, 20 Nov 2026 12:00:00 GMT"}, 412),
        ({"If_None_Match": "*"}, 412),
        ({"If_None_Match": OLD}, 200),
        ({"If_Modified_Since": "Fri, 20 Nov 2026 12:00:00 GMT"}, 200),
    ],
)
def test_conditions(acme, client, headers, status):
    assert put(acme, client, **headers).status_code == status


def test_the_condition_comes_after_access_and_before_the_content(acme, client):
    bob = acme.json()
    assert bob.put("/app/clients/999.json", json={"client": {}}, headers={"If-Match": OLD}).status_code == 404
    unknown = JSONClient(acme.host).put(path_of(client), json={"client": {}}, headers={"If-Match": OLD})
    assert unknown.status_code == 401
    assert bob.put("/app/account.json", json={"account": {}}, headers={"If-Match": OLD}).status_code == 403
    assert_failed(bob.put(path_of(client), json={"client": {"company": "x"}}, headers={"If-Match": OLD}))
    response = bob.put(path_of(client), json={"client": {"company": "x"}}, headers={"If-Match": "*"})
    assert_refused(response, 422, "validation_failed", {"company": ["is not true or false"]})
    response = bob.post(path_of(client), json={"_method": "PUT", "client": {"name": "b"}}, headers={"If-Match": OLD})
    assert_failed(response)


def test_a_put_by_external_id(acme):
    """The condition is about the list with this external id, which the same URL answers to GET."""
    path = "/app/clients.json?external_ids[shop]=1"
    etag = acme.json().get(path).headers["ETag"]
    assert acme.json().put(path, json={"client": {"name": "Ann"}}, headers={"If-Match": etag}).status_code == 201
    assert_failed(acme.json().put(path, json={"client": {"name": "Eve"}}, headers={"If-Match": etag}))


def test_other_resources(acme):
    alice = acme.json(acme.alice_token)
    status = acme.account.statuses.filter(kind="post").first()
    webhook = read(alice.post("/app/webhooks.json", json={"webhook": {"url": "https://example.com/hook"}}))
    view = read(alice.post("/app/views.json", json={"view": {"resource": "client", "name": "a"}}))
    post = make_post(acme.alice)
    comment = post.comment(by=acme.alice, text="a", agent="", internal=False)
    for path, body in (
        ("/app/account.json", {"account": {"won_reasons": ["a"]}}),
        (f"/app/statuses/{status.id}.json", {"status": {"name": "a"}}),
        (f"/app/webhooks/{webhook['id']}.json", {"webhook": {"enabled": False}}),
        (f"/app/views/{view['id']}.json", {"view": {"name": "b"}}),
        (f"/app/users/{acme.bob.id}.json", {"user": {"group_id": None}}),
        (f"/app/posts/{post.id}.json", {"post": {"title": "a"}}),
        (f"/app/posts/{comment.id}.json", {"post": {"comment": "b"}}),
    ):
        response = alice.get(path)
        assert "Last-Modified" in response.headers, path
        assert_failed(alice.put(path, json=body, headers={"If-Match": OLD}))
        assert_failed(alice.put(path, json=body, headers={"If-Unmodified-Since": http_date(0)}))
        response = alice.put(path, json=body, headers={"If-Match": response.headers["ETag"]})
        assert response.status_code == 200, (path, response.text)
    assert_failed(alice.delete(f"/app/posts/{post.id}/vote.json", headers={"If-Match": "*"}))


def test_posts_in_xml(acme):
    post = make_post(acme.alice, title="Old")
    Post.objects.update(updated_at=datetime.now(UTC) - timedelta(hours=1))
    path, xml = f"/app/posts/{post.id}.xml", acme.xml(acme.alice)
    content = b"<post><title>New</title></post>"
    response = xml.get(path)
    etag, modified = response.headers["ETag"], response.headers["Last-Modified"]
    for headers in ({"If-Match": OLD}, {"If-Unmodified-Since": http_date(0)}):
        for method in ("PUT", "DELETE"):
            refused = xml.request(method, path, content=content, headers=headers)
            assert (refused.status_code, refused.headers["Content-Type"]) == (412, "application/xml; charset=utf-8")
            assert "<error>The resource has changed, or does not exist</error>" in refused.text
    assert xml.put(path, content=content, headers={"If-Unmodified-Since": modified}).status_code == 200
    assert xml.put(path, content=content, headers={"If-Match": etag}).status_code == 412
    etag = xml.get(path).headers["ETag"]
    assert xml.delete(path, headers={"If-Match": etag}).status_code == 200
    assert xml.delete(path, headers={"If-Match": etag}).status_code == 404


@pytest.mark.django_db(transaction=True)
def test_one_of_two_simultaneous_writes_succeeds(acme):
    client = make_client(acme.alice, "Ann")
    etag = acme.json().get(path_of(client)).headers["ETag"]

    def write(number):
        body = {"client": {"note": f"{number}"}}
        return acme.json().put(path_of(client), json=body, headers={"If-Match": etag}).status_code

    statuses = at_once(*(lambda number=number: write(number) for number in range(4)))
    assert sorted(statuses) == [200, 412, 412, 412]
