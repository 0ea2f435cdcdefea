"""Odd input to any page is accepted or rejected with a message. It never causes a server error."""

from functools import cache
from itertools import cycle, islice
from types import SimpleNamespace
from urllib.parse import quote, quote_plus, urlencode
from zlib import crc32

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
# Each field of a page gets another value in each round, so that some field of the interface gets each value.
ROUNDS = range(3)
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


def odd_value(path: str, name: str, number: int = 0) -> str:
    """Return the value of a field of a page in a round."""
    place = crc32(f"{path} {name}".encode()) + number * len(ODD_VALUES) // len(ROUNDS)
    return ODD_VALUES[place % len(ODD_VALUES)]


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


@pytest.mark.parametrize("number", ROUNDS)
def test_it_works(filled_forum, alice, number):
    """Send all parameters of a page at once. If they are not accepted, send each alone, because a rejected one may hide another."""
    for path, names in filled_forum.parameters.items():
        values = {name: encode(odd_value(path, name, number)[:500]) for name in names}
        if not values:
            continue
        response = alice.get(f"{path}?{urlencode(values)}", expect_errors=True)
        assert_answered(response)
        if response.status_code != 200 and len(values) > 1:
            for name, value in values.items():
                assert_answered(alice.get(f"{path}?{urlencode({name: value})}", expect_errors=True))


def test_parameters_of_pages_are_found(filled_forum):
    """The pages read these parameters in different ways."""
    assert {"q", "order", "page", "status", "title", "next", "into", "tab"} <= set().union(
        *filled_forum.parameters.values()
    )


def test_raw_query_strings(alice):
    visitor = Visitor(HOST)
    for number, path in enumerate(paths(alice, "get")):
        first, second, third = islice(cycle(RAW_QUERIES), number, number + 3)
        for page, query in ((alice, first), (alice, second), (visitor, third)):
            assert_answered(page.get(f"{path}?{query}", expect_errors=True))
    for path in ("/", "/sitemap.xml", "/robots.txt", "/favicon.ico", "/%00", "/app/posts/" + "1" * 30):
        for query in RAW_QUERIES:
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


# Fields that choose what a form does, and the token without which it does nothing.
KEPT = ("csrfmiddlewaretoken", "do", "part", "act")


@pytest.mark.parametrize("number", ROUNDS)
def test_odd_values_in_forms(filled_forum, alice, number):
    """Send odd values in all fields at once, alone and after the original ones."""
    for path, fields in filled_forum.forms:
        odd_fields = [(name, odd_value(path, name, number)) for name, _ in fields if name not in KEPT]
        kept = [(name, value) for name, value in fields if name in KEPT]
        assert_answered(send(alice, path, kept + odd_fields))
        assert_answered(send(alice, path, [*fields, *odd_fields], **{"HX-Request": "true"}))


def test_an_odd_value_in_one_field_of_a_form(filled_forum, alice):
    """A field that is rejected may hide another."""
    for path, fields in filled_forum.forms:
        assert_answered(send(alice, path, [(name, value) for name, value in fields if name in KEPT]))
        for name in {name for name, _ in fields}.difference(KEPT):
            others = [(other_name, value) for other_name, value in fields if other_name != name]
            for value in {odd_value(path, name), ""}:
                assert_answered(send(alice, path, [*others, (name, value)]), name)


@pytest.mark.parametrize("number", ROUNDS)
def test_odd_values_outside_of_forms(filled_forum, alice, number):
    token = ("csrfmiddlewaretoken", token_in(filled_forum.forms))
    for path in posted_paths(alice):
        fields = [(name, odd_value(path, name, number)[:2000]) for name in FIELDS]
        address = {"HX-Current-URL": quote(encode(odd_value(path, "address", number)[:500]))}
        assert_answered(send(alice, path, [token, *fields], **({"HX-Request": "true"} | address if number else {})))
    for path in posted_paths(alice, token=False):
        assert_answered(send(alice, path, fields, **{"HX-Request": "true"}, **address))
        assert_answered(send(Visitor(HOST), path, fields))


def test_invalid_addresses_in_headers(filled_forum, alice):
    """Send an invalid address in each place where browsers send one."""
    token = token_in(filled_forum.forms)
    fields = [("csrfmiddlewaretoken", token), ("vote", "1")]
    for address, encoding in (
        ("http://[", {}),
        ("http://acme.example.test//[", {"HX-Current-URL-URI-AutoEncoded": "true"}),
    ):
        htmx = {"HX-Request": "true", "HX-Current-URL": quote(address) if encoding else address, **encoding}
        # Without a Referer, Django checks the Origin.
        for headers in ({**htmx, "Referer": address}, {**htmx, "Origin": address}):
            for path in paths(alice, "get") if "Referer" in headers else []:
                assert_answered(alice.get(path, headers=headers, expect_errors=True), headers)
            for path in posted_paths(alice):
                assert_answered(send(alice, path, fields, **headers), headers)
            # Visitors have no valid token. Over https, Django requires a valid Referer or Origin besides the token.
            https = {"wsgi.url_scheme": "https"}
            alice_over_https = Visitor(HOST, **https)
            alice_over_https.cookiejar = alice.cookiejar
            for path in posted_paths(alice, token=False):
                for page in (Visitor(HOST), Visitor(HOST, **https), alice_over_https):
                    assert_answered(send(page, path, fields, **headers), headers)


ODD_BODIES = [
    ("application/x-www-form-urlencoded", b"\xff\xfe=\xff&csrfmiddlewaretoken=\xff"),
    ("application/x-www-form-urlencoded; charset=rot13", b"a=b"),
    ("application/x-www-form-urlencoded; charset=utf-7", b"title=+AGE-"),
    ("multipart/form-data", b"nothing"),
    ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data; name=title\r\n\r\na\r\n--x--"),
    ("application/json", b"[" * 100_000),
    ("text/plain", b"title=a"),
    ("", b"\x00"),
    ("application/x-www-form-urlencoded", b"a=1&" * 2000),
]


def test_odd_bodies(filled_forum, alice):
    def post(page, path, content_type, body, **headers):
        response = page.post(path, body, content_type=content_type, headers=headers, expect_errors=True)
        assert_answered(response, content_type)

    token = token_in(filled_forum.forms)
    # The middleware and the view of a page read the body, so each body is sent to some pages.
    for number, path in enumerate(posted_paths(alice)):
        for odd_body in islice(cycle(ODD_BODIES), number, number + 3):
            post(alice, path, *odd_body, **{"X-CSRFToken": token})
    for path in posted_paths(alice, token=False):
        for odd_body in ODD_BODIES:
            post(alice, path, *odd_body)
            post(Visitor(HOST), path, *odd_body)
