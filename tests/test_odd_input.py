"""Odd input to any page is accepted or rejected with a message. It never causes a server error."""

from functools import cache
from itertools import count, cycle
from types import SimpleNamespace
from urllib.parse import quote, quote_plus, urlencode

import pytest
from django.db import transaction
from django.http import QueryDict

from tests.support.database import outer_transaction
from tests.support.fill import fill
from tests.support.fixtures import committed, make_cast
from tests.support.odd_values import odd_value
from tests.support.page_routes import CSRF_EXEMPT, ROUTES, make_rows, path_of
from tests.support.pages import Visitor

HOST = "acme.example.test"
# Forms to these paths end the session of the user.
ENDS_SESSION = ("/app/sign-out", "/app/profile/sessions")
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
        parameters, forms, names = {}, {}, set()
        for path in paths(page, "get"):
            response, parameters[path] = load(page, path)
            for form in forms_of(response):
                action, fields = form.action or path, fields_of(form)
                names |= set(parameters[path]) | set(filter(None, form.fields))
                # Forms of several rows have the same fields.
                forms.setdefault((action.partition("?")[0], frozenset(name for name, _ in fields)), (action, fields))
        yield SimpleNamespace(page=page, parameters=parameters, forms=list(forms.values()), names=sorted(names))


@pytest.fixture
def alice(filled_forum, db) -> Visitor:
    """Return alice's browser session, with the CSRF token of the forms."""
    page = filled_forum.page.copy()
    assert page.get("/app/profile").status_code == 200
    page.ids = filled_forum.page.ids
    return page


def load(page: Visitor, path: str):
    """Return a page and the names of the query parameters that it reads.

    It is loaded a second time with the names known so far, because it may then read further ones.
    """
    names = set()

    def recording(method):
        def wrapper(self, name, *arguments):
            names.add(name)
            return method(self, name, *arguments)

        return wrapper

    with pytest.MonkeyPatch.context() as patch:
        for name in ("__getitem__", "__contains__", "getlist"):
            patch.setattr(QueryDict, name, recording(getattr(QueryDict, name)))
        response = page.get(path, expect_errors=True)
        page.get(f"{path}?{urlencode(dict.fromkeys(sorted(names), '1'))}", expect_errors=True)
    return response, sorted(names)


def forms_of(response):
    """Return the forms of a page that are sent with POST."""
    is_page = "html" in (response.content_type or "") and response.status_code == 200
    forms = response.forms.values() if is_page else []
    return [form for form in forms if form.method.upper() == "POST" and "sign-out" not in form.action]


def fields_of(form) -> list[tuple[str, str]]:
    """Return the fields as they are sent. A field for a file gets no file: these forms are sent as text."""
    return [(name, value if isinstance(value, str) else "") for name, value in form.submit_fields() if name]


def assert_answered(response, *context) -> None:
    assert response.status_code < 500, (response.request.method, response.request.url[:300], *context)
    for name in ("Location", "HX-Redirect"):
        assert not response.headers.get(name, "/").startswith(("//", "/\t", "/\\", "http://evil"))


def paths(page: Visitor, method: str):
    for route, methods in ROUTES.items():
        if method in methods:
            yield path_of(route, page.ids)


def test_it_works(filled_forum, alice):
    """Send all parameters of a page at once. If they are not accepted, send each alone, because a rejected one may hide another."""
    for path, names in filled_forum.parameters.items():
        values = {name: encode(odd_value(path, name)[:500]) for name in names}
        response = alice.get(f"{path}?{urlencode(values)}", expect_errors=True)
        assert_answered(response)
        if response.status_code != 200 and len(values) > 1:
            for name, value in values.items():
                assert_answered(alice.get(f"{path}?{urlencode({name: value})}", expect_errors=True))
    # The pages read these parameters in different ways.
    read = set().union(*filled_forum.parameters.values())
    assert {"q", "order", "page", "status", "title", "next", "into", "tab"} <= read


def test_raw_query_strings(alice):
    queries, visitor = cycle(RAW_QUERIES), Visitor(HOST)
    for path, query, number in zip(paths(alice, "get"), queries, count(), strict=False):
        page = visitor if number % 3 == 0 else alice
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


def token_in(forms) -> str:
    return next(dict(fields)["csrfmiddlewaretoken"] for _, fields in forms)


def send(page: Visitor, path: str, fields, **headers):
    """Send a form and roll back, so that one form does not remove the rows of another."""
    body = "&".join(f"{quoted(name)}={quoted(value)}" for name, value in fields)
    kind = "application/x-www-form-urlencoded"
    with outer_transaction():
        response = page.post(path, body, content_type=kind, headers=headers, expect_errors=True)
        transaction.set_rollback(True)
    return response


# Fields that choose what a form does, and the token without which it does nothing.
KEPT = ("csrfmiddlewaretoken", "do", "part", "act")


def test_odd_values_in_forms(filled_forum, alice):
    """Send odd values in all fields at once, alone and after the original ones, and in one field, as a rejected one may hide another.

    Every second field is blank instead.
    """
    for path, fields in filled_forum.forms:
        kept = [(name, value) for name, value in fields if name in KEPT]
        odd = [(name, odd_value(path, name)) for name, _ in fields if name not in KEPT]
        bodies = [kept, [*kept, *odd]]
        for number, (name, value) in enumerate(dict(odd).items()):
            others = [(other_name, value) for other_name, value in fields if other_name != name]
            bodies.append([*others, (name, value if number % 2 else "")])
        # Forms with few fields have equal bodies.
        for body in dict.fromkeys(map(tuple, bodies)):
            assert_answered(send(alice, path, body), str(body)[:500])
        assert_answered(send(alice, path, [*fields, *odd], **{"HX-Request": "true"}))


def test_odd_values_outside_of_forms(filled_forum, alice):
    """Send the fields and buttons of all forms and the parameters of all pages to each path."""
    token = ("csrfmiddlewaretoken", token_in(filled_forum.forms))

    def odd_form(path: str):
        address = odd_value(path, "address")[:500]
        headers = {"HX-Request": "true", "HX-Current-URL": quote(encode(address))}
        return [(name, odd_value(path, name)[:200]) for name in filled_forum.names if name != token[0]], headers

    for path in posted_paths(alice):
        fields, headers = odd_form(path)
        assert_answered(send(alice, path, [token, *fields], **headers))
    for path in posted_paths(alice, token=False):
        fields, headers = odd_form(path)
        assert_answered(send(alice, path, fields, **headers))
        assert_answered(send(Visitor(HOST), path, fields))


def test_invalid_addresses_in_headers(filled_forum, alice):
    """Send an invalid address in each place where browsers send one: some of the places to each page, and all to forms without a token."""
    fields = [("csrfmiddlewaretoken", token_in(filled_forum.forms)), ("vote", "1")]
    plain, encoded = "http://[", "http://acme.example.test//["
    of_htmx = {
        plain: {"HX-Request": "true", "HX-Current-URL": plain},
        encoded: {
            "HX-Request": "true",
            "HX-Current-URL": quote(encoded),
            "HX-Current-URL-URI-AutoEncoded": "true",
        },
    }
    # Without a Referer, Django checks the Origin.
    places = [{**htmx, name: address} for address, htmx in of_htmx.items() for name in ("Referer", "Origin")]
    for path, headers in zip(paths(alice, "get"), cycle(places[::2]), strict=False):
        assert_answered(alice.get(path, headers=headers, expect_errors=True), headers)
    for path, headers in zip(posted_paths(alice), cycle(places), strict=False):
        assert_answered(send(alice, path, fields, **headers), headers)
    # Visitors have no valid token. Over https, Django requires a valid Referer or Origin besides the token.
    https = {"wsgi.url_scheme": "https"}
    alice_over_https = Visitor(HOST, **https)
    alice_over_https.cookiejar = alice.cookiejar
    for path in posted_paths(alice, token=False):
        for headers in places:
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

    # The middleware and the view of a page read the body, so each page gets one body.
    token = token_in(filled_forum.forms)
    for path, odd_body in zip(posted_paths(alice), cycle(ODD_BODIES), strict=False):
        post(alice, path, *odd_body, **{"X-CSRFToken": token})
    for path in posted_paths(alice, token=False):
        for odd_body in ODD_BODIES:
            post(alice, path, *odd_body)
            post(Visitor(HOST), path, *odd_body)
