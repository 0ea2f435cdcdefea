"""Every page without JavaScript: its language, the names and buttons of its forms, its references, its statements, and its weight."""

import gzip
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from django.conf import settings
from django.contrib.staticfiles import finders
from webtest import TestResponse

from accounts.sessions.cookies import SESSION_COOKIE
from tests.support.every_page import PAGES, PageCase, World, page_routes, routes_listed
from tests.support.factories import make_client
from tests.support.pages import Visitor
from tests.support.queries import capture_parameters
from tests.support.tenants import unscoped_statements

# The maximum transfer size of a first visit in bytes, with styles and scripts.
MAX_BYTES = 60_000
# These pages have the language of the e-mail that links to them, whatever the browser prefers.
IN_LANGUAGE_OF_EMAIL = {"app/unsubscribe", "app/unsubscribe/customer"}
# Scripts create the elements that these attributes name.
MADE_BY_SCRIPTS = {"find-list", "new-heading"}
# The buttons of these forms are in the comments, and a post may have none yet.
OF_COMMENTS = {"react", "mark"}
REFERENCES = ("for", "form", "list", "aria-labelledby", "aria-describedby", "aria-controls")
FIELDS = ("input", "select", "textarea")
WITHOUT_A_NAME = ("hidden", "submit")


def test_every_page_is_in_the_list():
    missing = page_routes() - set(routes_listed())
    assert missing == set(), "add these to PAGES in tests/support/every_page.py"
    assert set(routes_listed()) - page_routes() == set(), "remove these from PAGES: they are no pages"


def test_it_works(acme):
    world = World(acme)
    faults = [f"{case}: {fault}" for case in PAGES if not case.prepare for fault in faults_of(case, world)]
    assert faults == [], "\n".join(faults)


def faults_of(case: PageCase, world: World) -> Iterator[str]:
    visitor = Visitor(case.host or world.acme.host, HTTP_ACCEPT_LANGUAGE="pl")
    if case.login:
        visitor.set_cookie(SESSION_COOKIE, world.sessions[case.login])
    response, statements = capture_parameters(lambda: visitor.get(case.address(world), expect_errors=True))
    for sql in unscoped_statements(sql for sql, _ in statements):
        yield f"a statement does not name the account: {sql}"
    if response.status_code == 303:
        response = response.follow(expect_errors=True)
    if response.status_code != case.status:
        yield f"its status is {response.status_code}"
        return
    elements = BeautifulSoup(response.text, "html.parser").find_all(True)
    expected = "en" if case.route in IN_LANGUAGE_OF_EMAIL else "pl"
    if elements[0].get("lang") != expected:
        yield f"its language is {elements[0].get('lang')}"
    if weight(response, elements) >= MAX_BYTES:
        yield f"its weight is {weight(response, elements)} bytes"
    ids = {element["id"] for element in elements if element.has_attr("id")}
    labelled = {element["for"] for element in elements if element.has_attr("for")}
    for element in elements:
        for fault in faults_of_element(element, ids, labelled):
            yield f"{fault}: {str(element)[:150]}"
    for form in (element for element in elements if element.name == "form"):
        if form.get("id") not in OF_COMMENTS and not can_be_sent(form, elements):
            yield f"a form without a button: {str(form)[:150]}"


def faults_of_element(element: Tag, ids: set[str], labelled: set[str]) -> Iterator[str]:
    for attribute in REFERENCES:
        names = element.get(attribute) or ""
        if unknown := set(names.split()) - ids - MADE_BY_SCRIPTS:
            yield f"{attribute} names nothing, {unknown}"
    if element.name == "a" and (target := element.get("href", "")).startswith("#") and target[1:] not in ids:
        yield "a link to nothing"
    if element.name in FIELDS and not element.has_attr("hidden") and element.get("type") not in WITHOUT_A_NAME:
        name = element.get("aria-label") or element.get("aria-labelledby") or element.find_parent("label")
        if not name and element.get("id") not in labelled:
            yield "a field without a name"
    if element.name == "button" and element.get("type") != "button" and not is_in_form(element):
        yield "a button without a form"
    # What htmx loads by itself is a part of a page that is complete, or that is loaded again without scripts.
    asks = element.has_attr("hx-get") or element.has_attr("hx-post")
    if (
        asks
        and "load" not in element.get("hx-trigger", "")
        and not element.has_attr("href")
        and not is_in_form(element)
    ):
        yield "only htmx sends this request"


def is_in_form(element: Tag) -> bool:
    return element.name == "form" or element.has_attr("form") or element.find_parent("form") is not None


def can_be_sent(form: Tag, elements: list[Tag]) -> bool:
    """Return whether the form has a button that sends it, or one field only, from which the key Enter sends it."""
    own = [*form.find_all(True), *(element for element in elements if element.get("form", form) == form.get("id"))]
    is_button = any(element.name == "button" and element.get("type", "submit") == "submit" for element in own)
    fields = [element for element in own if element.name in FIELDS and element.get("type") != "hidden"]
    return is_button or len(fields) == 1


def weight(response: TestResponse, elements: list[Tag]) -> int:
    """Return the compressed size of a page with its styles and scripts."""
    files = [element["href"] for element in elements if element.name == "link" and "stylesheet" in element["rel"]]
    files += [element["src"] for element in elements if element.name == "script" and element.has_attr("src")]
    return len(gzip.compress(response.body)) + sum(map(weight_of_file, files))


@cache
def weight_of_file(url: str) -> int:
    path = finders.find(url.removeprefix(settings.STATIC_URL))
    return len(gzip.compress(Path(path).read_bytes()))


def test_a_full_page_is_light(acme):
    """A page of 25 different rows. The pages of the list have few rows."""
    for number in range(25):
        make_client(
            acme.bob,
            f"Client {number * 7919}",
            email=f"{number * 104729}@example{number}.example",
            phone=f"+48 {number * 15485863:09}",
            city=f"City {number}",
            responsible_id=acme.bob.id,
            tags=[f"tag {number}", f"tag {number + 1}"],
        )
    path = "/app/clients?columns=email,phone,city,responsible_id,tags,created_at,open_sum"
    response = acme.page(acme.bob).get(path)
    page = BeautifulSoup(response.text, "html.parser")
    assert len(page.select("tbody tr")) == 25
    assert 20_000 < weight(response, page.find_all(True)) < MAX_BYTES
