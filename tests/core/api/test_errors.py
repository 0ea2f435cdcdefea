"""Errors of the Account API that no endpoint raises, such as unknown paths, and server errors."""

import psycopg
import pytest
from django.db import InterfaceError, OperationalError

from accounts.tokens.models import APIToken
from core.api.views import JSONViewSet
from tests.support.assertions import assert_refused
from tests.support.client import JSONClient
from tests.support.factories import make_post
from tests.support.tables import table


def test_it_works(acme):
    response = acme.json().get("/app/nothing.json")
    assert response.content == b'{"code":"not_found","message":"There is no such thing here"}'
    assert_refused(response, 404, "not_found")


UNKNOWN_PATHS = [
    *("/nothing.json", "/.json", "/app/clients/.json", "/app/clients/tags/1.json", "/app/clients/1.json.json"),
    *("/APP/clients.json", "//app/clients.json", "/app/clients/1%00.json", "/%ff.json", "/%c3%28.json"),
    *("/" + "a" * 10_000 + ".json", "/app/account.json/../x.json"),
]
UNKNOWN_PATHS_OF_PAGES = [
    *("/app/clients.json//", "/app/clients.html", "/app/clients/1/", "/app/%63lients%2Ejson%00"),
]


def test_it_rejects_unknown_paths(acme):
    for path in UNKNOWN_PATHS:
        assert_refused(acme.json().get(path), 404, "not_found")
    for method in ("POST", "DELETE"):
        assert_refused(acme.json().request(method, "/nothing.json"), 404, "not_found")
        assert acme.json().request(method, "/app/clients.html").status_code in (404, 405)
    for path in UNKNOWN_PATHS_OF_PAGES:
        assert acme.json().get(path).status_code == 404


@table("method", ["OPTIONS", "TRACE", "FOO", "GETX", "CONNECT"])
def test_it_rejects_unknown_methods(acme, method):
    response = acme.json().request(method, "/app/clients.json")
    assert_refused(response, 405, "method_not_allowed", allow="GET, HEAD, POST, PUT, PATCH")


def test_an_unknown_method_without_a_token_is_unauthenticated(acme):
    assert_refused(JSONClient(acme.host).request("OPTIONS", "/app/clients.json"), 401, "unauthenticated")


def test_a_hostile_query_causes_no_server_error(acme):
    queries = ["%", "%zz", "%ff=%00", "a" * 10_000, "&".join("a=1" for _ in range(1500)), "=&=&;", "api_token[]=x"]
    for query in (*queries, "page=1&page=2"):
        response = acme.json().get(f"/app/clients/1.json?{query}")
        assert response.status_code in (400, 404)
        assert response.headers["Content-Type"] == "application/json"


@table("error", [OperationalError, InterfaceError])
def test_an_unavailable_database(acme, monkeypatch, error):
    def fail(*args):
        raise error("could not connect to server: secret-host")

    monkeypatch.setattr(APIToken, "digest_of", fail)
    response = acme.json().get("/app/tasks.json")
    assert_refused(response, 503, "unavailable", retry_after="5")


@table(
    ("method", "message"),
    [
        ("GET", "The service failed"),
        ("POST", "The service failed; the request may have been carried out"),
        ("PUT", "The service failed; the request may have been carried out"),
    ],
)
def test_a_server_error_reveals_nothing(acme, monkeypatch, method, message):
    def fail(*args):
        raise RuntimeError("the secret of the service")

    monkeypatch.setattr(APIToken, "digest_of", fail)
    response = acme.json().request(method, "/app/clients.json")
    assert_refused(response, 500, "internal_error", message=message)


LOST = "The connection to the database was lost; the request may have been carried out"


@pytest.fixture
def lost_commit(monkeypatch):
    """Return a function that makes each later commit lose the connection before it is acknowledged."""
    commit = psycopg.Connection.commit

    def lose(connection):
        commit(connection)
        connection.close()
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    def start():
        monkeypatch.setattr(psycopg.Connection, "commit", lose)

    yield start
    monkeypatch.undo()


@pytest.mark.machinery
def test_an_unacknowledged_commit_is_reported_as_uncertain(transactional_db, acme, lost_commit):
    lost_commit()
    response = acme.json().post("/app/contact_lists.json", json={"contact_list": {"name": "a"}})
    assert_refused(response, 503, "unavailable", message=LOST, retry_after="5")
    assert acme.account.contact_lists.filter(name="a").exists()
    response = acme.xml().send_xml("POST", "/app/posts.xml", "<post><title>a</title></post>")
    assert (response.status_code, f"<error>{LOST}</error>" in response.text) == (503, True)


@pytest.mark.machinery
def test_an_unacknowledged_statement_is_reported_as_uncertain(transactional_db, acme, monkeypatch):
    """The row is committed by the statement that inserts it. Whoever repeated the request would create a second one."""
    execute = psycopg.Connection.execute

    def lose(connection, text, values, **options):
        cursor = execute(connection, text, values, **options)
        if "INSERT INTO" in text:
            connection.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return cursor

    post, json = make_post(acme.alice), acme.json()
    for path, body, rows in (
        (f"/app/posts/{post.id}/vote.json", None, acme.account.votes),
        (f"/app/posts/{post.id}/comments.json", {"comment": {"comment": "a"}}, acme.account.comments),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(psycopg.Connection, "execute", lose)
            response = json.post(path, json=body)
        assert (response.status_code, LOST in response.text) == (503, True)
        assert rows.count() == 1


@pytest.mark.machinery
def test_a_connection_lost_after_the_commit_is_reported_as_uncertain(transactional_db, acme, monkeypatch):
    """The connection is lost while the acknowledgement is read."""

    def fail(*args, **kwargs):
        raise OperationalError("server closed the connection unexpectedly")

    for name in ("represent", "get_paginated_response"):
        monkeypatch.setattr(JSONViewSet, name, fail)
    response = acme.json().post("/app/contact_lists.json", json={"contact_list": {"name": "a"}})
    assert_refused(response, 503, "unavailable", message=LOST, retry_after="5")
    # A read can be repeated.
    assert_refused(acme.json().get("/app/contact_lists.json"), 503, "unavailable", retry_after="5")


def test_every_response_has_its_own_request_id(acme):
    ids = {acme.json().get(path).headers["X-Request-Id"] for path in ("/app/tasks.json", "/app/x.json", "/healthz")}
    assert len(ids) == 3
