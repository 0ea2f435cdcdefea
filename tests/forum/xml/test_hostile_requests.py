"""Hostile requests get an error in XML, and never cause a server error."""

import logging

import pytest
from django.db import InterfaceError, OperationalError, connection
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.factories import PASSWORD, make_post
from tests.support.tables import table
from tests.support.xml import (
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


def test_it_works(acme):
    assert call(acme.host, user=ALICE).status_code == 200


# Paths


@table(
    "path",
    [
        *(
            b"/\0",
            b"/a\0b",
            b"/\xff",
            b"/\xc3\x28",
            b"/\xed\xa0\x80",
            b"/\xef\xbf\xbe",
            b"/a\nb",
            b"/a\r\nSet-Cookie: x",
            b"/%00",
            b"/%",
        ),
        *(
            b"/%FF",
            b"/\x01\x7f",
            b"//",
            b"///",
            b"/..",
            b"/../..",
            b"/./",
            b"/app/../app/users/me.xml",
            b"/;",
            b"/" + b"x" * 100_000,
        ),
        *(
            b"/app/posts/\0.xml",
            b"/app/posts/\xff.xml",
            b"/app/posts/\xd9\xa1.xml",
            b"/app/posts/1\n.xml",
            b"/app/posts/1.xml\0",
        ),
        *(
            b"/app/posts/1.xml/",
            b"/app/posts/" + b"1" * 100_000 + b".xml",
            b"/APP/users/me.xml",
            b"/app/users/me.XML",
            b"/app//posts.xml",
        ),
        *(
            b"/app/users/me",
            b"/app/users/me.html",
            b"/app/users/me.xml.xml",
            b"/app/users/1.xml",
            b"/\xe2\x80\xae",
            b"/" + "ł".encode() * 9000,
        ),
    ],
)
def test_it_rejects_hostile_paths(acme, path):
    response = call(acme.host, path, user=ALICE)
    assert shown(response) == refusal(404, NOT_FOUND)
    for header in response.headers.values():
        assert "\n" not in header


def test_an_empty_path_is_the_list(acme):
    assert shown(call(acme.host, b"", user=ALICE)) == posts()


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
@table("path", [b"/", b"/General", b"/app/posts.xml"])
def test_hostile_queries_get_a_valid_response(acme, path, query, expected):
    response = call(acme.host, path, query=query, user=ALICE)
    assert response.status_code == expected
    if expected == 200:
        assert shown(response) == posts()
        assert response.headers["Link"] == f'<http://acme.example.test{path.decode()}?page=1>; rel="first"'


def test_it_rejects_too_many_parameters(acme, caplog):
    response = call(acme.host, b"/", query="x=1&" * 2000, user=ALICE)
    assert shown(response) == refusal(400, UNREADABLE)


# Headers


@table(
    "name",
    [
        *(
            "HTTP_ACCEPT",
            "HTTP_USER_AGENT",
            "HTTP_COOKIE",
            "HTTP_ORIGIN",
            "HTTP_REFERER",
            "HTTP_X_FORWARDED_FOR",
            "HTTP_CONTENT_ENCODING",
        ),
        *(
            "HTTP_X_FORWARDED_PROTO",
            "HTTP_ACCEPT_LANGUAGE",
            "HTTP_IF_NONE_MATCH",
            "HTTP_IF_MODIFIED_SINCE",
            "HTTP_RANGE",
            "HTTP_EXPECT",
        ),
        *(
            "HTTP_X_HTTP_METHOD_OVERRIDE",
            "HTTP_PREFER",
            "HTTP_X_REQUEST_ID",
            "HTTP_X_CSRFTOKEN",
        ),
    ],
)
def test_hostile_headers_change_nothing(acme, name):
    body = b"<post><title>t</title></post>"
    for value in ("\0", "\xff", "x" * 70_000, "=?utf-8?q?x?=", "\r\nX: y", '"', ";;;;", ", , ,", "%00", "a/b;q=\0"):
        response = call(acme.host, b"/app/posts.xml", method="POST", user=ALICE, body=body, **{name: value})
        assert response.status_code == 201, value
        post = acme.account.posts.latest("id")
        response = call(acme.host, f"/app/posts/{post.id}.xml".encode(), user=ALICE, **{name: value})
        assert response.status_code == 200, value
        assert f'<id type="integer">{post.id}</id>' in response.text


@table(
    "content_type",
    [
        *(
            ";;;",
            ";charset",
            "; charset=",
            "charset=utf-8",
            "application/xml; charset",
            "application/xml; charset=;charset=;",
        ),
        *(
            'application/xml; charset="',
            "application/xml; charset='",
            "application/xml; charset=\0",
            "application/xml; charset=\xff",
        ),
        *(
            "application/xml; charset=rot13",
            "application/xml; charset=" + "x" * 70_000,
            "application/xml" + "; a=b" * 20_000,
        ),
        *(
            "x" * 70_000,
            "/" * 1000,
            "\xff/\xfe",
            "\0",
            "application/xml\0",
            "application/xml, text/xml",
            "application/xml charset=utf-8",
        ),
        *(
            "multipart/form-data; boundary=\0",
            "multipart/form-data; boundary=" + "x" * 70_000,
            "application/x-www-form-urlencoded; charset=rot13",
        ),
        *(
            'text/xml; charset="utf-8"; charset=rot13',
            "text/xml; charset*=utf-8''rot13",
            "text/xml; charset*0=ut; charset*1=f-8",
            "=?x?=",
        ),
    ],
)
@table(("method", "path"), [("POST", b"/app/posts.xml"), ("GET", b"/"), ("GET", b"/app/users/me.xml")])
def test_hostile_content_types_get_a_valid_response(acme, method, path, content_type):
    body = b"<post><title>t</title></post>"
    response = call(acme.host, path, method=method, user=ALICE, body=body, query="order=old", CONTENT_TYPE=content_type)
    assert response.status_code in ((200,) if b"users" in path else (200, 201, 400, 415))
    assert response.headers["Content-Type"] == "application/xml; charset=utf-8"


@table("length", ["abc", "1e3", "\xb2", "0x10", "12 13", "12,12", "1.0", "\0", "--1"])
def test_it_rejects_a_content_length_that_is_not_a_number(acme, length):
    response = call(acme.host, b"/app/posts.xml", method="POST", user=ALICE, body=b"<post/>", CONTENT_LENGTH=length)
    assert shown(response) == refusal(400, "Content-Length is not a number")


@table(("method", "path"), ROUTES)
def test_it_rejects_a_content_length_over_1_mib_without_reading_the_body(acme, method, path):
    for length in (str(1024 * 1024 + 1), "9" * 20, "9" * 1000):
        response = call(acme.host, path.replace(b"{id}", b"1"), method=method, CONTENT_LENGTH=length)
        assert shown(response) == refusal(413, TOO_LARGE)


@table("body", [b"", b"<post><title>t", b"<post><title>t</title></post>"])
def test_it_rejects_a_truncated_body(acme, body):
    """A truncated body is rejected even if it looks complete (RFC 9112, section 8)."""
    response = call(acme.host, b"/app/posts.xml", method="POST", user=ALICE, body=body, CONTENT_LENGTH="1000")
    assert shown(response) == refusal(400, "The request was cut off on its way; send it again")
    assert not acme.account.posts.exists()


def test_a_body_is_read_up_to_its_content_length(acme):
    body = b"<post><title>t</title></post>"
    response = call(
        acme.host, b"/app/posts.xml", method="POST", user=ALICE, body=body + b"x", CONTENT_LENGTH=str(len(body))
    )
    assert response.status_code == 201


@table("method", ["FOO", "TRACE", "CONNECT", "PROPFIND", "OPTIONS", "X" * 1000, "get", "\xff"])
def test_it_rejects_unusual_methods(acme, method):
    response = call(acme.host, method=method, user=ALICE)
    if method == "get":
        assert response.status_code == 200
    else:
        assert shown(response) == refusal(405, NOT_ALLOWED)
        assert response.headers["Allow"] == "GET, HEAD"


# Every route


@table(("method", "path"), ROUTES)
def test_it_rejects_anonymous_requests_on_every_route(acme, method, path):
    post = make_post(acme.alice)
    path = path.replace(b"{id}", str(post.id).encode())
    for environ in (
        {},
        {"HTTP_AUTHORIZATION": f"Bearer {acme.alice_token}"},
        {"QUERY_STRING": f"api_token={acme.alice_token}"},
    ):
        response = call(acme.host, path, method=method, **environ)
        assert shown(response) == refusal(401, UNAUTHENTICATED)
        assert response.headers["WWW-Authenticate"] == 'Basic realm="Acme", charset="UTF-8"'
    post.refresh_from_db()
    assert post.trashed_at is None


@table("error", [OperationalError("server closed the connection"), InterfaceError("connection is closed")])
@table(("method", "path"), ROUTES)
def test_a_lost_database_connection_causes_503(acme, method, path, error):
    post = make_post(acme.alice)
    path = path.replace(b"{id}", str(post.id).encode())
    call(acme.host, user=ALICE)
    body = b"<hash><post><title>t</title></post><user><login>x</login></user></hash>"

    def response_after(queries: int):
        """Return the response if the database fails after `queries` statements."""
        executed = 0

        def execute(run_statement, sql, params, many, context):
            nonlocal executed
            if executed >= queries and "SAVEPOINT" not in sql:
                raise error
            executed += 1
            return run_statement(sql, params, many, context)

        with connection.execute_wrapper(execute):
            return call(
                acme.host, path, method=method, user=ALICE, body=body if method in ("POST", "PUT", "PATCH") else b""
            )

    for queries in (0, 1):
        response = response_after(queries)
        if queries and path == b"/app/users/me.xml":
            assert response.status_code == 200
            continue
        assert shown(response) == refusal(503, UNAVAILABLE)
        assert response.headers["Retry-After"] == "5"


@table(("method", "path"), [route for route in ROUTES if route[0] in ("POST", "PUT", "PATCH")])
@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
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


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.binary(max_size=30),
    query=st.binary(max_size=30),
    host=st.just(b"acme.example.test") | st.binary(max_size=30),
)
def test_any_path_query_and_host_get_a_valid_response(acme, path, query, host):
    response = call(host.decode("latin-1"), b"/" + path, query=query.decode("latin-1"), user=ALICE)
    assert response.status_code in (200, 404, 422)


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(header=st.binary(max_size=60) | st.binary(max_size=40).map(lambda raw: b"Basic " + raw))
def test_it_rejects_any_invalid_authorization(acme, header):
    assert shown(call(acme.host, HTTP_AUTHORIZATION=header.decode("latin-1"))) == refusal(401, UNAUTHENTICATED)


# Numbers and texts in every field


HOSTILE_VALUES = ["", " ", "\x85", "0", "-0", "1" * 5000, "1e400", "-1e400", "NaN", "Infinity", "sNaN", "0x1", "1_000", "\u0661", "½", "true", "null"]  # fmt: skip


@table(
    "kind",
    ["", ' type="integer"', ' type="boolean"', ' type="datetime"', ' type="array"', ' type="float"', ' nil="true"'],
)
def test_hostile_values_get_a_valid_response(acme, kind):
    """Send each value in each field alone, because a rejected one would hide another."""
    post = make_post(acme.alice)
    for value in HOSTILE_VALUES:
        for field in ("title", "content", "kind", "category-id", "status", "responsible-id"):
            body = f"<post><{field}{kind}>{value}</{field}></post>".encode()
            response = call(acme.host, f"/app/posts/{post.id}.xml".encode(), method="PUT", user=ALICE, body=body)
            assert response.status_code in (200, 422), (field, value)
        for field in ("order", "page", "per-page"):
            body = f"<{field}{kind}>{value}</{field}>".encode()
            response = call(acme.host, b"/", method="POST", user=ALICE, body=body)
            assert response.status_code in (200, 422), (field, value)
