"""The API examples in the settings: every operation of the OpenAPI document, with values of the user's account."""

import gzip
import json
import re

import pytest
from bs4 import BeautifulSoup
from django.db import transaction
from django.urls import get_resolver

from accounts.examples.operations import examples, indent_xml, sections
from accounts.examples.requests import indent_json
from core.openapi.document import document
from core.registry import registry
from tests.support.database import outer_transaction
from tests.support.examples import Example
from tests.support.factories import PASSWORD, make_client, make_post
from tests.support.fill import fill
from tests.support.pages import Visitor
from tests.support.queries import capture_queries
from tests.support.settings import send
from tests.support.tables import table

PATH = "/app/account/api"
OPERATIONS = {
    operation["operationId"]: (method.upper(), path)
    for path, methods in document()["paths"].items()
    for method, operation in methods.items()
}
# The kinds of rows whose ids examples have.
# The rows of which an example shows the id, beside those of resources.
KINDS_OF_IDS = (
    "attachments",
    "bulk_changes",
    "exports",
    "forums",
    "imports",
    "merges",
    "notifications",
    "saved_views",
    "users",
    "webhooks",
)
# Only a partner may create accounts; no bulk change or message is running; the import is not started; a message is sent with its own number of recipients.
NOT_RUNNABLE = (
    "ask_deletion",
    "create_account",
    "cancel_bulk_change",
    "cancel_import",
    "cancel_message",
    "send_message",
    "undo_import",
)


@pytest.fixture
def filled(acme):
    """Create one row of each kind."""
    fill(acme.account, acme.bob, "full")
    # The example of a reaction needs a comment on the newest suggestion.
    acme.account.posts.live().without_tasks().filter(duplicate_from_id=None).latest("id").comment(
        by=acme.bob, text="Yes"
    )
    return acme


@pytest.fixture
def alice(filled) -> Visitor:
    return filled.page(filled.alice)


@pytest.fixture
def known_ids(filled) -> set[int]:
    rows = [getattr(filled.account, kind) for kind in KINDS_OF_IDS]
    rows += [resource.rows_of(filled.account) for resource in registry]
    return {id for kind in rows for id in kind.values_list("id", flat=True)}


def example_elements(page) -> dict:
    """Return the HTML form of each example, by the id of its operation."""
    return {form["data-example"]: form for form in page.html.find_all("form", attrs={"data-example": True})}


def example_form(page, id: str):
    """Return the form of an example, which can be submitted."""
    [number] = [number for number, form in enumerate(page.html("form")) if form.get("data-example") == id]
    return page.forms[number]


def parse_curl(element) -> Example:
    """Parse the curl line of an example."""
    example = Example(command=element.find(attrs={"data-code": True}).text, shown="")
    example.read({})
    return example


def call(visitor: Visitor, example: Example, headers: dict, **kwargs):
    kwargs = {"headers": example.headers | headers, "expect_errors": True, **kwargs}
    return visitor.request(example.url, method=example.method, body=(example.body or "").encode(), **kwargs)


def test_it_works():
    """The examples are exactly the operations of the OpenAPI document."""
    assert {id: (example.method, example.path) for id, example in examples().items()} == OPERATIONS


@table("section", list(sections()))
def test_pages_of_examples(alice, known_ids, section):
    """A page shows its examples with ids of the account and without a secret. It is small and takes few statements.

    Each example except deletions can be run with the session, as scripts send it.
    """
    # The first page looks up the host.
    alice.get("/app/account/access")
    page, queries = capture_queries(lambda: alice.get(f"{PATH}/{section}"))
    # Statements: the session, the forum, the numbers in the menus, the newest rows that the examples need, the newest rows in the trash.
    assert len(queries) <= 6, queries
    assert len(gzip.compress(page.body)) < 20_000
    assert len(page.body) < 120_000
    assert not re.search(r"<script>|<style| style=| on[a-z]+=", page.text)
    assert PASSWORD not in page
    elements = example_elements(page)
    assert {id: (element["data-method"], element["data-path"]) for id, element in elements.items()} == {
        id: OPERATIONS[id] for id, example in examples().items() if example.slug == section
    }
    for element in elements.values():
        assert "Create one first" not in element.text
        curl = parse_curl(element)
        assert curl.url.startswith("http://acme.example.test/")
        route = curl.url.partition("?")[0].split("/", 3)[3]
        assert any(pattern.pattern.match(route) for pattern in get_resolver().url_patterns)
    ids = {int(element["value"]) for element in page.html.find_all(attrs={"data-kind-of-id": True})}
    assert ids <= known_ids
    for id in [id for id in elements if examples()[id].method != "DELETE" and id not in NOT_RUNNABLE]:
        example, curl = examples()[id], parse_curl(elements[id])
        assert curl.auth == (("alice", "PASSWORD") if example.language == "xml" else None)
        assert curl.headers.pop("Authorization", "") == ("Bearer YOUR_API_TOKEN" if example.language == "json" else "")
        csrf = elements[id].find("input", {"name": "csrfmiddlewaretoken"})["value"]
        with outer_transaction():
            response = call(alice, curl, {"X-CSRFToken": csrf, "Accept": "*/*"})
            assert response.status_int in ((200,) if example.method == "GET" else (200, 201)), (id, response.text)
            transaction.set_rollback(True)


@table(
    ("section", "id", "status"),
    [
        ("clients", "read_client", "200 OK"),
        ("deals", "create_deal", "201 Created"),
        ("forum-api-xml", "read_me", "200 OK"),
    ],
)
def test_an_example_can_be_run_without_javascript(alice, section, id, status):
    page = alice.get(f"{PATH}/{section}")
    shown = example_shown(example_form(page, id).submit(), id)
    assert shown.find(attrs={"data-status": True}).text == status
    path = "/" + parse_curl(example_elements(page)[id]).url.split("/", 3)[3]
    assert shown.find(attrs={"data-line": True}).text == f"{examples()[id].method} {path} HTTP/1.1"
    assert "X-Request-Id" in shown.find(attrs={"data-headers": True}).text


def test_the_first_page_links_to_all_examples(filled):
    page = filled.page(filled.alice).get(PATH)
    links = {link["href"] for link in page.html.select(".operations a") if "#" in link["href"]}
    assert links == {f"{PATH}/{example.slug}?lang=curl#{id}" for id, example in examples().items()}
    # The Account API comes first.
    headings = [heading.text for heading in page.html.select(".card > h2")]
    assert headings[-3:] == ["Account API (JSON)", "Forum API (XML)", "Both interfaces"]
    assert page.html.find("a", href="/app/docs")
    assert page.html.find("a", href="/app/docs/swagger")
    assert page.html.find("a", href="/app/openapi.json")


def test_it_rejects_unknown_sections_and_operations(acme):
    alice = acme.page(acme.alice)
    alice.get(f"{PATH}/nothing", status=404)
    send(alice, f"{PATH}/clients", status=404, operation="read_deal")
    alice.post(f"{PATH}/clients", {"operation": "list_clients"}, status=403)


def test_an_account_without_rows_gets_an_example_id(acme):
    page = acme.page(acme.alice).get(f"{PATH}/clients")
    # The section has the name of an entry of the main menu, which is not marked.
    assert page.html.select("header [aria-current]") == []
    element = example_elements(page)["read_client"]
    assert parse_curl(element).url == "http://acme.example.test/app/clients/26.json"
    assert element.find("a", href=f"{PATH}/clients#create_client").text == "Create one first"
    # References to missing rows are left out.
    contacts = example_elements(acme.page(acme.alice).get(f"{PATH}/contacts"))
    assert json.loads(parse_curl(contacts["create_contact"]).body) == {
        "contact": {"name": "Jan Nowak", "email": "jan@example.com"}
    }


def test_examples_contain_the_id_of_the_newest_row(acme, other):
    newest = [make_client(acme.bob).id for _ in range(2)][-1]
    make_client(other.mallory)
    make_client(acme.bob).trash(by=acme.bob)
    make_post(other.mallory)
    page = acme.page(acme.bob).get(f"{PATH}/clients")
    assert (
        parse_curl(example_elements(page)["read_client"]).url == f"http://acme.example.test/app/clients/{newest}.json"
    )
    page = acme.page(acme.bob).get(f"{PATH}/contacts")
    assert json.loads(parse_curl(example_elements(page)["create_contact"]).body)["contact"]["client_id"] == newest


def example_shown(page, id: str) -> BeautifulSoup:
    """Return an example with its response. Only this part of the page is parsed: to parse all takes longer than to run the example."""
    start = '<details class="example" id="'
    example = page.text.partition(f'{start}{id}"')[2].partition(start)[0]
    return BeautifulSoup(f'{start}{id}"{example}', "html.parser")


def test_an_edited_example_can_be_run(acme):
    bob = acme.page(acme.bob)
    form = example_form(bob.get(f"{PATH}/clients"), "create_client")
    form["body"] = '{"client": {"name": "Łucja & Żaneta"}}'
    form["header.Prefer"] = "handling=strict"
    page = form.submit()
    [client] = acme.account.clients.all()
    assert client.name == "Łucja & Żaneta"
    assert client.creator_id == acme.bob.id
    # The form keeps the sent values, and the next example has the new id.
    assert example_form(page, "create_client")["body"].value == '{"client": {"name": "Łucja & Żaneta"}}'
    assert example_form(page, "read_client")["path.id"].value == "26"
    assert example_form(bob.get(f"{PATH}/clients"), "read_client")["path.id"].value == str(client.id)


def test_an_example_with_external_ids_can_be_run(acme):
    page = acme.page(acme.bob).get(f"{PATH}/clients")
    form = example_form(page, "put_client_by_external_id")
    form["query.external_ids"] = "a=1&b=x y"
    form.submit()
    [client] = acme.account.clients.all()
    assert client.external_ids == {"a": "1", "b": "x y"}
    # A body may be too large.
    form = example_form(page, "create_client")
    form["body"] = "x" * 1024 * 1024
    form.submit(status=413)


def test_a_deleting_example_asks_first(acme):
    id = make_client(acme.bob).id
    bob = acme.page(acme.bob)
    page = bob.get(f"{PATH}/clients")
    assert example_elements(page)["delete_client"]["data-confirm"]
    response = example_form(page, "delete_client").submit(status=422)
    assert "Nothing was deleted" in response
    assert acme.account.clients.live().exists()
    form = example_form(response, "delete_client")
    form["sure"] = True
    assert "200 OK" in form.submit()
    assert not acme.account.clients.live().filter(id=id).exists()


def test_examples_have_the_permissions_of_the_user(acme, other):
    """Headers, paths and ids of an example cannot reach another account."""
    other_id = make_client(other.mallory).id
    bob = acme.page(acme.bob)
    form = example_form(bob.get(f"{PATH}/statuses"), "create_status")
    assert "403 Forbidden" in form.submit()
    form = example_form(bob.get(f"{PATH}/clients"), "read_client")
    form["path.id"] = str(other_id + 1000)
    assert "404 Not Found" in form.submit()
    for value in ("..%2f", "?", "1\r\nX: y", "ż" * 300, "{id}"):
        form["path.id"] = value
        assert "404 Not Found" in form.submit()
    form = example_form(bob.get(f"{PATH}/forum-api-xml"), "list_category")
    form["path.category_name"] = "app/account/api"
    assert "have a slash" in form.submit(status=422)
    form = example_form(bob.get(f"{PATH}/account"), "create_account")
    assert "403 Forbidden" in form.submit()
    form["header.Prefer"] = "a\r\nCookie: session=x"
    form["body"] = "not JSON"
    assert "400 Bad Request" in form.submit()


def test_examples_count_towards_the_limit(acme, settings):
    settings.RATE_LIMIT = 6
    bob = acme.page(acme.bob)
    form = example_form(bob.get(f"{PATH}/clients"), "list_clients")
    # One request for the form, and one for the example.
    assert [form.submit(expect_errors=True).status_int for _ in range(4)] == [200, 200, 200, 429]


def test_a_long_response_is_truncated(acme):
    page = acme.page(acme.bob).get(f"{PATH}/documentation")
    shown = example_form(page, "read_openapi").submit().html.find(class_="answer")
    assert len(shown.find(attrs={"data-text": True}).text) == 100_000
    assert not shown.find(attrs={"data-cut": True}).has_attr("hidden")


def test_json_is_indented():
    text = '{"a":1.50,"b":[],"c":{},"d":["x{y\\"}",{"e":null}],"f":12345678901234567890}'
    assert json.loads(indent_json(text)) == json.loads(text)
    assert indent_json(text).splitlines()[:4] == ["{", '  "a": 1.50,', '  "b": [],', '  "c": {},']
    assert indent_json("[]") == "[]"
    assert indent_json('"ok"') == '"ok"'


def test_xml_is_indented():
    xml = '<post><status>a &amp; b</status><responsible-id type="integer">15</responsible-id></post>'
    assert indent_xml(xml, {"responsible": 7}).splitlines() == [
        "<post>",
        "  <status>a &amp; b</status>",
        '  <responsible-id type="integer">7</responsible-id>',
        "</post>",
    ]
