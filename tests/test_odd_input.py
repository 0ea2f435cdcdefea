"""Odd input to any page is accepted or rejected with a message. It never causes a server error."""

from functools import cache
from types import SimpleNamespace
from urllib.parse import quote, quote_plus, urlencode

import pytest
from django.db import transaction
from django.http import QueryDict

from tests.support.fill import fill
from tests.support.fixtures import committed, make_cast
from tests.support.page_routes import CSRF_EXEMPT, ROUTES, make_rows, path_of
from tests.support.pages import Visitor

HOST = "acme.example.test"
# Field names that the pages read.
FIELDS = [
    "act",
    "after",
    "before",
    "body",
    "category_id",
    "code",
    "color",
    "content",
    "counts",
    "current",
    "customer",
    "do",
    "email",
    "end",
    "expires",
    "host",
    "into",
    "id",
    "key",
    "kind",
    "label",
    "language",
    "list",
    "login",
    "name",
    "next",
    "notification",
    "operation",
    "part",
    "password",
    "position",
    "private",
    "q",
    "role",
    "responsible_id",
    "response",
    "seen",
    "status_id",
    "step",
    "tags",
    "time_zone",
    "title",
    "token",
    "until",
    "version",
    "vote",
    "www",
    "path.id",
    "query.external_ids",
    "header.Prefer",
]
ODD_VALUES = [
    "",
    "0",
    "1" * 19,
    "9" * 5000,
    "٣",  # a digit outside ASCII
    "\x00",
    "a\x00b\x1f",
    "\ud800",
    "😀" * 17_000,
    "/\t/evil.example",
    "http://[",
    "client-999999999999999999",
    "[](" * 500,
    "<script>alert(1)</script>{{ 7 }}{% now %}",
    "9999-12-31",
]
# Forms to these paths end the session of the user.
ENDS_SESSION = ("/app/sign-out", "/app/profile/sessions")
# Sent in each field alone.
SHORT_ODD_VALUES = ["", "\x00"]
# Query strings, sent unchanged.
RAW_QUERIES = [
    "page=%00",
    "page=%ff%fe&%ff=%ff",
    "page[]=1&page=" + "1" * 31,
    "q=%ff&q=%00&q=a&order[]=top&order[a][b]=1&&&=&=&;",
    "q=" + "%25" * 2000 + "&a=1" * 900,
]


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@cache
def quoted(text: str) -> str:
    """Return the text as in a form body. To quote a long text takes longer than to answer the request."""
    return quote_plus(encode(text))


@pytest.fixture(scope="module")
def filled_forum(django_db_setup, django_db_blocker):
    """Create rows of each kind in acme, and collect the parameters of each page and all forms that alice sees."""
    with committed(django_db_blocker):
        acme = make_cast()
        fill(acme.account, acme.bob, "full")
        page = acme.page(acme.alice)
        page.ids = make_rows(acme.account, acme.bob)
        parameters = {path: parameters_of(page, path) for path in paths(page, "get")}
        yield SimpleNamespace(page=page, parameters=parameters, forms=list(forms_of(page)))


@pytest.fixture
def alice(filled_forum, db) -> Visitor:
    """Return alice's browser session, with the CSRF token of the forms."""
    page = filled_forum.page.copy()
    assert page.get("/app/profile").status_code == 200
    page.ids = filled_forum.page.ids
    return page


def parameters_of(page: Visitor, path: str) -> list[str]:
    """Return the names of the query parameters that a page reads.

    The page is loaded repeatedly with the names known so far, because it may then read further ones.
    """
    names, names_read = [], set()

    def recording(method):
        def wrapper(self, name, *arguments):
            names_read.add(name)
            return method(self, name, *arguments)

        return wrapper

    with pytest.MonkeyPatch.context() as patch:
        for name in ("__getitem__", "__contains__", "getlist"):
            patch.setattr(QueryDict, name, recording(getattr(QueryDict, name)))
        for value in (None, "", "1"):
            page.get(path + (f"?{urlencode(dict.fromkeys(names, value))}" if names else ""), expect_errors=True)
            names = sorted(names_read)
    return names


def assert_answered(response, *context) -> None:
    assert response.status_code < 500, (response.request.method, response.request.url[:300], *context)
    for name in ("Location", "HX-Redirect"):
        assert not response.headers.get(name, "/").startswith(("//", "/\t", "/\\", "http://evil"))


def paths(page: Visitor, method: str):
    for route, methods in ROUTES.items():
        if method in methods:
            yield path_of(route, page.ids)


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: ascii(value[:12]))
def test_it_works(filled_forum, alice, value):
    """Send all parameters of a page at once. If they are not accepted, send each alone, because a rejected one may hide another."""
    value = encode(value[:500])
    for path, names in filled_forum.parameters.items():
        if not names:
            continue
        response = alice.get(f"{path}?{urlencode(dict.fromkeys(names, value))}", expect_errors=True)
        assert_answered(response)
        if response.status_code != 200 and len(names) > 1:
            for name in names:
                assert_answered(alice.get(f"{path}?{urlencode({name: value})}", expect_errors=True))


def test_parameters_of_pages_are_found(filled_forum):
    """The pages read these parameters in different ways."""
    assert {"q", "order", "page", "status", "title", "next", "into", "tab"} <= set().union(
        *filled_forum.parameters.values()
    )


@pytest.mark.parametrize("query", RAW_QUERIES, ids=lambda query: query[:12])
def test_raw_query_strings(alice, query):
    for path in paths(alice, "get"):
        for page in (alice, Visitor(HOST)):
            assert_answered(page.get(f"{path}?{query}", expect_errors=True))
    for path in ("/sitemap.xml", "/robots.txt", "/favicon.ico", "/%00", "/app/posts/" + "1" * 30):
        assert_answered(alice.get(f"{path}?{query}", expect_errors=True))


def posted_paths(page: Visitor, *, token: bool = True) -> list[str]:
    """Return the paths for forms.

    Without a CSRF token, return those whose views are called nevertheless, and one of the others, for which the middleware answers.
    """
    routes = [route for route, methods in ROUTES.items() if "post" in methods]
    if not token:
        checked = next(route for route in routes if route not in CSRF_EXEMPT)
        routes = [checked, *(route for route in routes if route in CSRF_EXEMPT)]
    return [path for route in routes if (path := path_of(route, page.ids)) not in ENDS_SESSION]


def forms_of(page: Visitor):
    """Return the path and the fields of each different form of the pages."""
    known = set()
    for path in paths(page, "get"):
        response = page.get(path, expect_errors=True)
        if "html" not in (response.content_type or "") or response.status_code != 200:
            continue
        for form in response.forms.values():
            if form.method.upper() != "POST":
                continue
            action = form.action or path
            # A field for a file gets no file: these forms are sent as text.
            fields = [(name, value if isinstance(value, str) else "") for name, value in form.submit_fields() if name]
            shape = action.partition("?")[0], tuple(sorted({name for name, _ in fields}))
            if shape not in known and "sign-out" not in action:
                known.add(shape)
                yield action, fields


def token_in(forms) -> str:
    return next(dict(fields)["csrfmiddlewaretoken"] for _, fields in forms)


def send(page: Visitor, path: str, fields, **headers):
    """Send a form and roll back, so that one form does not remove the rows of another."""
    body = "&".join(f"{quoted(name)}={quoted(value)}" for name, value in fields)
    kind = "application/x-www-form-urlencoded"
    with transaction.atomic():
        response = page.post(path, body, content_type=kind, headers=headers, expect_errors=True)
        transaction.set_rollback(True)
    return response


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: ascii(value[:12]))
def test_odd_values_in_forms(filled_forum, alice, value):
    """Send odd values in all fields at once and in each field alone; leave out each field; send all fields twice."""
    for path, fields in filled_forum.forms:
        required = [
            (name, original) for name, original in fields if name in ("csrfmiddlewaretoken", "do", "part", "act")
        ]
        odd_fields = [(name, value) for name, _ in fields if (name, _) not in required]
        assert_answered(send(alice, path, required + odd_fields))
        assert_answered(send(alice, path, [*fields, *odd_fields], **{"HX-Request": "true"}))
        for name, _ in odd_fields if value in SHORT_ODD_VALUES else []:
            others = [(other_name, original) for other_name, original in fields if other_name != name]
            assert_answered(send(alice, path, [*others, (name, value)]), name)
            if not value:
                assert_answered(send(alice, path, others), name)


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: ascii(value[:12]))
def test_odd_values_outside_of_forms(filled_forum, alice, value):
    fields = [(name, value[:2000]) for name in FIELDS]
    token = ("csrfmiddlewaretoken", token_in(filled_forum.forms))
    htmx_headers = {"HX-Request": "true", "HX-Current-URL": quote(encode(value[:500]))}
    for path in posted_paths(alice):
        assert_answered(send(alice, path, [token, *fields]))
        assert_answered(send(alice, path, [token, *fields], **htmx_headers))
    for path in posted_paths(alice, token=False):
        assert_answered(send(alice, path, fields, **htmx_headers))
        assert_answered(send(Visitor(HOST), path, fields))


@pytest.mark.parametrize("address", ["http://[", "http://acme.example.test//["])
def test_invalid_addresses_in_headers_and_fields(filled_forum, alice, address):
    """Send an invalid address in each place where browsers send one."""
    headers = [
        {"HX-Request": "true", "HX-Current-URL": address},
        {"HX-Request": "true", "HX-Current-URL": quote(address), "HX-Current-URL-URI-AutoEncoded": "true"},
        {"Referer": address},
        {"Origin": address},
    ]
    token = token_in(filled_forum.forms)
    fields = [("csrfmiddlewaretoken", token), ("vote", "1")]
    for page_headers in headers[:2]:
        # Nothing checks these headers of a GET request, so one cannot hide another.
        all_headers = {**page_headers, "Referer": address, "Origin": address}
        for page in (alice, Visitor(HOST)):
            for path in paths(alice, "get"):
                assert_answered(page.get(path, headers=all_headers, expect_errors=True), all_headers)
    for page_headers in headers:
        for path in posted_paths(alice):
            assert_answered(send(alice, path, fields, **page_headers), page_headers)
        # Visitors have no valid token. Over https, Django requires a valid Referer or Origin besides the token.
        https = {"wsgi.url_scheme": "https"}
        alice_over_https = Visitor(HOST, **https)
        alice_over_https.cookiejar = alice.cookiejar
        for path in posted_paths(alice, token=False):
            for page in (Visitor(HOST), Visitor(HOST, **https), alice_over_https):
                assert_answered(send(page, path, fields, **page_headers), page_headers)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/x-www-form-urlencoded", b"\xff\xfe=\xff&csrfmiddlewaretoken=\xff"),
        ("application/x-www-form-urlencoded; charset=rot13", b"a=b"),
        ("application/x-www-form-urlencoded; charset=utf-7", b"title=+AGE-"),
        ("multipart/form-data", b"nothing"),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data; name=title\r\n\r\na\r\n--x--"),
        ("application/json", b"[" * 100_000),
        ("text/plain", b"title=a"),
        ("", b"\x00"),
        ("application/x-www-form-urlencoded", b"a=1&" * 2000),
    ],
    ids=str,
)
def test_odd_bodies(filled_forum, alice, content_type, body):
    def post(page, path, **headers):
        response = page.post(path, body, content_type=content_type, headers=headers, expect_errors=True)
        assert_answered(response, content_type)

    token = token_in(filled_forum.forms)
    for path in posted_paths(alice):
        post(alice, path, **{"X-CSRFToken": token})
    for path in posted_paths(alice, token=False):
        post(alice, path)
        post(Visitor(HOST), path)
