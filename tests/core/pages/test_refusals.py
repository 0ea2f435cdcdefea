"""Error pages."""

import re

from django.db import OperationalError
from django.test import override_settings
from django.utils.translation import override

from accounts.hosts.addresses import host_cache
from accounts.sessions.middleware import PagesMiddleware
from accounts.sessions.models import Session
from core.http.errors import CODES
from core.pages import errors as pages
from core.pages.base import Page
from core.pages.navigation import MenuEntry
from forum.lists.pages.home import RoadmapPage
from tests.support.pages import Visitor
from tests.support.queries import capture_queries
from tests.support.tables import table

HOST = "acme.example.test"
POLISH = {"HTTP_ACCEPT_LANGUAGE": "pl,en;q=0.5"}


def raising(error):
    """Return a function that raises the error."""

    def function(*args, **kwargs):
        raise error

    return function


def many_fields(visitor):
    # Get the CSRF cookie first: a form without it is rejected before it is read.
    visitor.get("/app/sign-in")
    return visitor.post("/app/language", [(f"field{n}", "") for n in range(1100)], status=400)


def invalid_length(visitor):
    visitor.lint = False
    return visitor.get("/", extra_environ={"CONTENT_LENGTH": "much"}, status=400)


def too_large(visitor):
    return visitor.post("/app/sign-in", {"login": "a" * (1024 * 1024 + 1)}, status=413)


# The errors of requests that do not reach the pages of the site.
EARLY = {"400, invalid Content-Length", "413"}
REFUSALS = {
    "400, many fields": many_fields,
    "400, invalid Content-Length": invalid_length,
    "403": lambda visitor: visitor.post("/app/sign-in", {}, status=403),
    "404": lambda visitor: visitor.get("/app/nothing", status=404),
    "405": lambda visitor: visitor.get("/app/sign-out", status=405),
    "413": too_large,
}


def assert_refused(response, status, language="en", *, in_site=True):
    """Assert a whole page in the language, with the heading of the status: in the site, or without any external resource."""
    with override(language):
        heading = str(pages.HEADINGS[status])
    assert response.status_code == status
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert response.headers["Content-Language"] == language
    assert response.html.html["lang"] == language
    assert response.html.h1.text == heading
    assert "Traceback" not in response
    if in_site:
        assert response.html.title.text == f"{heading} · Acme"
        # The header, the roadmap in the menu and the choice of the language.
        assert response.html.select_one("header.top a[href='/app/roadmap']") is not None
        assert response.html.select_one("footer form[action='/app/language']") is not None
        assert "style-src 'self'" in response.headers["Content-Security-Policy"]
        assert not response.html.find_all("style")
        return
    assert response.html.title.text == heading
    assert not re.search(r"<script|<link|<img| style=", response.text)
    # The content security policy allows the only style.
    assert response.html.style.string == pages.STYLE
    assert response.headers["Content-Security-Policy"] == pages.POLICY


@table("language", ["en", "pl"])
@table("name", REFUSALS)
def test_it_works(acme, name, language):
    response = REFUSALS[name](Visitor(HOST, HTTP_ACCEPT_LANGUAGE=language))
    assert_refused(response, int(name[:3]), language, in_site=name not in EARLY)


def test_error_pages_are_in_the_language_of_the_user(acme):
    acme.carol.language = "pl"
    acme.carol.save()
    page = acme.page(acme.carol).get("/app/nothing", status=404)
    assert_refused(page, 404, "pl")
    # The page has the form to sign out.
    assert [form.action for form in page.forms.values()] == ["/app/sign-out", "/app/language"]


def test_every_error_status_has_a_page(rf):
    for status in CODES:
        assert pages.error_page(rf.get("/app/x"), status).content


@table("path", ["/", "/app/sign-in", "/app/nothing"])
def test_it_rejects_an_unknown_host(acme, path):
    response = Visitor("nobody.example.test").get(path, status=404)
    assert response.html.h1.text == "No forum lives at this address"
    assert not response.html.find_all("a")
    assert Visitor("nobody.example.test", **POLISH).get(path, status=404).html.html["lang"] == "pl"


def test_requests_over_the_limit(acme):
    bob = acme.page(acme.bob)
    form = next(form for form in bob.get("/").forms.values() if form.action == "/app/language")
    with override_settings(RATE_LIMIT=1):
        form.submit()
        response = form.submit(status=429)
    assert_refused(response, 429)
    assert re.search(r"Try again in \d+ seconds?\.", response.text)
    assert response.headers["Retry-After"].isdigit()


@table("headers", [{}, POLISH])
def test_a_server_error_reveals_nothing(acme, monkeypatch, headers):
    monkeypatch.setattr(RoadmapPage, "get", raising(RuntimeError("the secret of the service")))
    response = Visitor(HOST, **headers).get("/app/roadmap", status=500)
    assert_refused(response, 500, "pl" if headers else "en")
    assert "secret of the service" not in response


def test_a_server_error_of_a_form_warns_that_data_may_be_saved(acme, monkeypatch):
    bob = acme.page(acme.bob)
    form = next(form for form in bob.get("/").forms.values() if form.action == "/app/language")
    monkeypatch.setattr(Page, "dispatch", raising(RuntimeError("the secret of the service")))
    response = form.submit(status=500)
    assert_refused(response, 500)
    assert [element.text for element in response.html.select(".failure p")][1:3] == [
        "It is our fault, and it has been noted.",
        "What you sent may have been saved: look before you send it again.",
    ]


def test_a_server_error_before_the_page_reveals_nothing(acme, monkeypatch):
    monkeypatch.setattr(
        PagesMiddleware, "load_user_and_site", staticmethod(raising(RuntimeError("the secret of the service")))
    )
    assert_refused(Visitor(HOST, **POLISH).get("/", status=500), 500, "pl", in_site=False)


@table("login", ["carol", "bob"])
def test_the_page_of_a_server_error_uses_no_database(acme, monkeypatch, login):
    visitor = acme.page(getattr(acme, login))
    visitor.get("/")
    monkeypatch.setattr(RoadmapPage, "get", raising(RuntimeError("the secret of the service")))
    page, queries = capture_queries(lambda: visitor.get("/app/roadmap", status=500))
    assert_refused(page, 500)
    assert page.html.select_one("header form[action='/app/sign-out']") is not None
    # The session and the forum, before the error.
    assert len(queries) == 2, queries


def test_a_server_error_of_the_header_falls_back_to_the_static_page(acme, monkeypatch):
    monkeypatch.setattr(RoadmapPage, "get", raising(RuntimeError("the secret of the service")))
    monkeypatch.setattr(MenuEntry, "path", property(raising(RuntimeError("the menu"))))
    assert_refused(acme.page().get("/app/roadmap", status=500), 500, in_site=False)


def fail_at_the_host(monkeypatch):
    monkeypatch.setattr(host_cache, "find", raising(OperationalError("secret-host")))


def fail_at_the_session(monkeypatch):
    monkeypatch.setattr(type(Session.objects), "find_by_secret", raising(OperationalError("secret-host")))


def fail_in_the_page(monkeypatch):
    monkeypatch.setattr(RoadmapPage, "get", raising(OperationalError("secret-host")))


@table("break_database", [fail_at_the_host, fail_at_the_session, fail_in_the_page])
def test_an_unavailable_database(acme, monkeypatch, break_database):
    carol = acme.page(acme.carol)
    break_database(monkeypatch)
    response = carol.get("/app/roadmap?status=new", status=503)
    assert_refused(response, 503, in_site=False)
    assert "secret-host" not in response
    assert response.headers["Retry-After"] == "5"
    # The link repeats the request.
    assert response.html.a["href"] == "/app/roadmap?status=new"


def test_early_errors_need_no_query(acme, django_assert_num_queries):
    with django_assert_num_queries(0):
        too_large(Visitor(HOST))


def test_htmx_requests_get_a_message(acme):
    """The message replaces the content of an element, instead of a whole page."""
    response = acme.page().get("/app/nothing", headers={"HX-Request": "true"}, status=404)
    assert response.headers["HX-Retarget"] == "#messages"
    assert response.headers["HX-Reswap"] == "innerHTML"
    assert "<html" not in response
    assert response.html.find(role="alert").strong.text == "There is nothing here"


def test_boosted_links_get_a_page(acme):
    headers = {"HX-Request": "true", "HX-Boosted": "true"}
    assert_refused(acme.page().get("/app/nothing", headers=headers, status=404), 404)
