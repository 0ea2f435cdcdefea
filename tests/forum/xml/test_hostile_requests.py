"""Hostile requests get an error in XML, and never cause a server error."""

import logging

import pytest
from django.db import InterfaceError, OperationalError, connection
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.factories import PASSWORD, make_post
from tests.support.tables import table
from tests.support.xml import (
    CONTENT_TYPE,
    NOT_ALLOWED,
    NOT_FOUND,
    TOO_LARGE,
    UNAUTHENTICATED,
    UNAVAILABLE,
    UNREADABLE,
    call,
    posts,
    refusal,
    shown,
)

ALICE = ("alice", PASSWORD)
ROUTES = [
    ("GET", b"/app/users/me.xml"),
    ("GET", b"/app/users/team.xml"),
    ("GET", b"/app/categories.xml"),
    ("GET", b"/app/posts.xml"),
    ("GET", b"/"),
    ("POST", b"/"),
    ("GET", b"/General"),
    ("POST", b"/General"),
    ("GET", b"/app/posts/{id}.xml"),
    ("HEAD", b"/app/posts/{id}.xml"),
    ("PUT", b"/app/posts/{id}.xml"),
    ("PATCH", b"/app/posts/{id}.xml"),
    ("DELETE", b"/app/posts/{id}.xml"),
    ("POST", b"/app/posts.xml"),
    ("POST", b"/app/users.xml"),
]


@pytest.fixture(autouse=True)
def no_failure(caplog):
    """Fail if Django logs an unexpected exception, even if the response looks like a client error."""
    yield
    failures = [record for record in caplog.get_records("call") if record.levelno >= logging.ERROR]
    assert [record for record in failures if record.exc_info] == []


# Paths


def test_it_works(acme):
    assert shown(call(acme.host, b"", user=ALICE)) == shown(call(acme.host, b"/", user=ALICE)) == posts()


HOSTILE_PATHS = [
    *(b"/\0", b"/a\0b", b"/\xff", b"/\xc3\x28", b"/\xed\xa0\x80", b"/\xef\xbf\xbe", b"/a\nb", b"/a\r\nSet-Cookie: x"),
    *(b"/%00", b"/%FF", b"/\x01\x7f", b"//", b"///", b"/..", b"/../..", b"/./", b"/app/../app/users/me.xml", b"/;"),
    *(b"/app/posts/\0.xml", b"/app/posts/\xff.xml", b"/app/posts/\xd9\xa1.xml", b"/app/posts/1\n.xml"),
    *(b"/app/posts/1.xml\0", b"/app/posts/1.xml/", b"/app/posts/" + b"1" * 100_000 + b".xml", b"/" + b"x" * 100_000),
    *(b"/APP/users/me.xml", b"/app/users/me.XML", b"/app//posts.xml", b"/app/users/me", b"/app/users/me.html"),
    *(b"/app/users/me.xml.xml", b"/app/users/1.xml", b"/\xe2\x80\xae", b"/" + "ł".encode() * 9000),
]


def test_it_rejects_hostile_paths(acme):
    for path in HOSTILE_PATHS:
        response = call(acme.host, path, user=ALICE)
        assert shown(response) == refusal(404, NOT_FOUND), path[:50]
        assert not any("\n" in header for header in response.headers.values())


# Queries


@table(
    ("query", "expected"),
    [
        ("&&&=&==", 200),
        ("x=%00&y=%FF&%ED%A0%80=z", 200),
        ("x=\xff\xfe&\x01", 200),
        ("%", 200),
        ("x=" + "a" * 100_000, 200),
        ("order=new\0", 422),
        ("order=%ED%A0%80", 422),
        ("page=%00", 422),
        ("page=%D9%A1", 422),
        ("page=1%00", 422),
        ("per_page=%FF", 422),
        ("order[]=new", 200),
        ("page=1;order=old", 422),
    ],
)
def test_hostile_queries_get_a_valid_response(acme, query, expected):
    response = call(acme.host, b"/General", query=query, user=ALICE)
    assert response.status_code == expected
    if expected == 200:
        assert shown(response) == posts()
        assert response.headers["Link"] == '<http://acme.example.test/General?page=1>; rel="first"'


def test_it_rejects_too_many_parameters(acme, caplog):
    response = call(acme.host, b"/", query="x=1&" * 2000, user=ALICE)
    assert shown(response) == refusal(400, UNREADABLE)


# Headers


HEADERS = (
    "ACCEPT USER_AGENT COOKIE ORIGIN REFERER X_FORWARDED_FOR CONTENT_ENCODING X_FORWARDED_PROTO ACCEPT_LANGUAGE "
    "IF_NONE_MATCH IF_MODIFIED_SINCE RANGE EXPECT X_HTTP_METHOD_OVERRIDE PREFER X_REQUEST_ID X_CSRFTOKEN"
)
HOSTILE_TEXTS = ["\0", "\xff", "x" * 70_000, "=?utf-8?q?x?=", "\r\nX: y", '"', ";;;;", ", , ,", "%00", "a/b;q=\0"]


def test_hostile_headers_change_nothing(acme):
    body = b"<post><title>t</title></post>"
    for value in HOSTILE_TEXTS:
        headers = {f"HTTP_{name}": value for name in HEADERS.split()}
        response = call(acme.host, b"/app/posts.xml", method="POST", user=ALICE, body=body, **headers)
        assert response.status_code == 201, value
        post = acme.account.posts.latest("id")
        response = call(acme.host, f"/app/posts/{post.id}.xml".encode(), user=ALICE, **headers)
        assert response.status_code == 200, value
        assert f'<id type="integer">{post.id}</id>' in response.text


HOSTILE_CONTENT_TYPES = [
    *(";;;", ";charset", "; charset=", "charset=utf-8", "\0", "x" * 70_000, "/" * 1000, "\xff/\xfe", "=?x?="),
    *("application/xml; charset", "application/xml; charset=;charset=;", 'application/xml; charset="'),
    *("application/xml; charset='", "application/xml; charset=\0", "application/xml; charset=\xff"),
    *("application/xml; charset=rot13", "application/xml; charset=" + "x" * 70_000, "application/xml\0"),
    *("application/xml" + "; a=b" * 20_000, "application/xml, text/xml", "application/xml charset=utf-8"),
    *("multipart/form-data; boundary=\0", "multipart/form-data; boundary=" + "x" * 70_000),
    *("application/x-www-form-urlencoded; charset=rot13", 'text/xml; charset="utf-8"; charset=rot13'),
    *("text/xml; charset*=utf-8''rot13", "text/xml; charset*0=ut; charset*1=f-8"),
]


def test_hostile_content_types_get_a_valid_response(acme):
    for content_type in HOSTILE_CONTENT_TYPES:
        for method, path, statuses in (
            ("POST", b"/app/posts.xml", (201, 400, 415)),
            # The list reads parameters from the body, the page of the user reads nothing.
            ("GET", b"/", (200, 400, 415)),
            ("GET", b"/app/users/me.xml", (200,)),
        ):
            sent = {"body": b"<post><title>t</title></post>", "query": "order=old", "CONTENT_TYPE": content_type}
            response = call(acme.host, path, method=method, user=ALICE, **sent)
            assert response.status_code in statuses, (content_type[:80], path)
            assert response.headers["Content-Type"] == CONTENT_TYPE


def test_it_rejects_a_wrong_content_length(acme):
    sent = {"method": "POST", "user": ALICE, "body": b"<post/>"}
    for length in ("abc", "1e3", "\xb2", "0x10", "12 13", "12,12", "1.0", "\0", "--1"):
        response = call(acme.host, b"/app/posts.xml", CONTENT_LENGTH=length, **sent)
        assert shown(response) == refusal(400, "Content-Length is not a number"), length
    # A truncated body is rejected even if it looks complete (RFC 9112, section 8).
    for body in (b"", b"<post><title>t", b"<post><title>t</title></post>"):
        response = call(acme.host, b"/app/posts.xml", CONTENT_LENGTH="1000", **sent | {"body": body})
        assert shown(response) == refusal(400, "The request was cut off on its way; send it again"), body
    assert not acme.account.posts.exists()
    body = b"<post><title>t</title></post>"
    response = call(acme.host, b"/app/posts.xml", CONTENT_LENGTH=str(len(body)), **sent | {"body": body + b"x"})
    assert response.status_code == 201


def test_it_rejects_a_content_length_over_1_mib_without_reading_the_body(acme):
    for method, path in ROUTES:
        for length in (str(1024 * 1024 + 1), "9" * 1000):
            response = call(acme.host, path.replace(b"{id}", b"1"), method=method, CONTENT_LENGTH=length)
            assert shown(response) == refusal(413, TOO_LARGE), (method, path)


# The methods of each path.
METHODS = {
    b"/app/users/me.xml": "GET, HEAD",
    b"/app/users/team.xml": "GET, HEAD",
    b"/app/users.xml": "POST",
    b"/app/categories.xml": "GET, HEAD",
    b"/": "GET, HEAD, POST",
    b"/General": "GET, HEAD, POST",
    b"/app/posts.xml": "GET, HEAD, POST",
    b"/app/posts/{id}.xml": "GET, HEAD, PUT, PATCH, DELETE",
}


def test_it_rejects_other_methods(acme):
    for path, allowed in METHODS.items():
        for method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "FOO"} - {*allowed.split(", ")}:
            response = call(acme.host, path.replace(b"{id}", b"1"), method=method, user=ALICE)
            assert shown(response) == refusal(405, NOT_ALLOWED), (method, path)
            assert response.headers["Allow"] == allowed
    for method in ("TRACE", "CONNECT", "PROPFIND", "X" * 1000, "\xff"):
        assert shown(call(acme.host, method=method, user=ALICE)) == refusal(405, NOT_ALLOWED), method
    assert call(acme.host, method="get", user=ALICE).status_code == 200


# Every route


@table("error", [OperationalError("server closed the connection"), InterfaceError("connection is closed")])
def test_a_lost_database_connection_causes_503(acme, error):
    post = make_post(acme.alice)
    call(acme.host, user=ALICE)
    body = b"<hash><post><title>t</title></post><user><login>x</login></user></hash>"

    def response_after(queries: int, method: str, path: bytes):
        """Return the response if the database fails after `queries` statements."""
        executed = 0

        def execute(run_statement, sql, params, many, context):
            nonlocal executed
            if executed >= queries and "SAVEPOINT" not in sql:
                raise error
            executed += 1
            return run_statement(sql, params, many, context)

        sent = {"body": body} if method in ("POST", "PUT", "PATCH") else {}
        with connection.execute_wrapper(execute):
            return call(acme.host, path, method=method, user=ALICE, **sent)

    # An error of another type is handled in the same place.
    for method, path in ROUTES if isinstance(error, OperationalError) else ROUTES[-2:]:
        for queries in (0, 1):
            response = response_after(queries, method, path.replace(b"{id}", str(post.id).encode()))
            if queries and path == b"/app/users/me.xml":
                assert response.status_code == 200
                continue
            assert shown(response) == refusal(503, UNAVAILABLE), (method, path)
            assert response.headers["Retry-After"] == "5"


@table(("method", "path"), [route for route in ROUTES if route[0] in ("POST", "PUT", "PATCH")])
@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    body=st.binary(max_size=200)
    | st.text(max_size=100).map(lambda text: f"<post><title>{text}</title></post>".encode(errors="replace"))
)
@example(body=b'<hash><order><a/></order><page type="array"/><post type="array"/><user type="array"/></hash>')
@example(
    body=b"<hash><post><title><a/></title></post><user><login><a/></login><email/><password><a/></password></user></hash>"
)
@example(body=b'<hash><post nil="true"/><user nil="true"/><order nil="true"/><page nil="true"/></hash>')
@example(
    body=b"<hash><user><login>\xc2\xad</login><email>x@y</email><password type='integer'>12345678</password></user></hash>"
)
def test_any_body_gets_a_valid_response(acme, method, path, body):
    post = make_post(acme.alice)
    response = call(acme.host, path.replace(b"{id}", str(post.id).encode()), method=method, user=ALICE, body=body)
    assert response.status_code in (200, 201, 400, 422)
    assert response.headers["Content-Type"] == "application/xml; charset=utf-8"


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.binary(max_size=30),
    query=st.binary(max_size=30),
    host=st.just(b"acme.example.test") | st.binary(max_size=30),
)
def test_any_path_query_and_host_get_a_valid_response(acme, path, query, host):
    response = call(host.decode("latin-1"), b"/" + path, query=query.decode("latin-1"), user=ALICE)
    assert response.status_code in (200, 404, 422)


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(header=st.binary(max_size=60) | st.binary(max_size=40).map(lambda raw: b"Basic " + raw))
def test_it_rejects_any_invalid_authorization(acme, header):
    assert shown(call(acme.host, HTTP_AUTHORIZATION=header.decode("latin-1"))) == refusal(401, UNAUTHENTICATED)


# Numbers and texts in every field


HOSTILE_VALUES = ["", " ", "\x85", "0", "-0", "1" * 5000, "1e400", "-1e400", "NaN", "Infinity", "sNaN", "0x1", "1_000", "\u0661", "½", "true", "null"]  # fmt: skip


HOSTILE_ELEMENTS = [
    *((value, "") for value in HOSTILE_VALUES),
    *(("1" * 5000, ' type="integer"'), ("½", ' type="integer"'), ("true", ' type="boolean"'), ("", ' type="array"')),
    *(("NaN", ' type="float"'), ("0", ' type="datetime"'), ("1e400", ' nil="true"')),
]


def test_hostile_values_get_a_valid_response(acme):
    """Send each value in each field alone, because a rejected one would hide another."""
    path = f"/app/posts/{make_post(acme.alice).id}.xml".encode()
    for value, kind in HOSTILE_ELEMENTS:
        for field in ("title", "content", "kind", "category-id", "status", "responsible-id"):
            body = f"<post><{field}{kind}>{value}</{field}></post>".encode()
            response = call(acme.host, path, method="PUT", user=ALICE, body=body)
            assert response.status_code in (200, 422), (field, value)
        for field in ("order", "page", "per-page"):
            body = f"<{field}{kind}>{value}</{field}>".encode()
            response = call(acme.host, b"/", method="POST", user=ALICE, body=body)
            assert response.status_code in (200, 422), (field, value)
