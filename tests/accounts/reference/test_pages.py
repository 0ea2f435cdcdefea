"""The reference at /app/docs: rendered from the OpenAPI document and from the text of docs."""

import gzip
import re
from collections.abc import Callable
from urllib.parse import urljoin, urlsplit

import pytest

from accounts.examples.operations import examples
from accounts.reference.content import pages
from accounts.reference.fields import component_table, make_field
from accounts.reference.guide import ADDRESS, DOCUMENTS, chapters, link_target, text_for_customers
from accounts.reference.pages import excerpt_around, search
from core.openapi.document import document
from tests.support.client import Client
from tests.support.pages import PageResponse, Visitor
from tests.support.queries import capture_queries
from tests.support.tables import table

PATH = "/app/docs"


@pytest.fixture
def visitor(acme) -> Visitor:
    return Visitor(acme.host)


loaded: dict[str, PageResponse] = {}


@pytest.fixture
def load(visitor) -> Callable[[str], PageResponse]:
    """Return a function that loads a page of the reference once for all tests: it shows no row but the host."""
    return lambda slug: loaded.get(slug) or loaded.setdefault(slug, visitor.get(f"{PATH}/{slug}" if slug else PATH))


def test_it_works(visitor):
    page = visitor.get(PATH)
    links = {link["href"] for link in page.html.select(".docs nav a")}
    assert links == {PATH, *(f"{PATH}/{slug}" for slug in pages())}
    headings = [heading.text for heading in page.html.select(".docs nav h2")]
    assert headings == ["Account API (JSON)", "Forum API (XML)", "Both interfaces", "Guide"]
    assert "This host answers at http://acme.example.test." in page.html.find("article").text
    assert page.html.find(id="first").text.startswith("curl 'http://acme.example.test/app/account.json'")


def test_every_operation_and_field_is_on_a_page(load):
    operations, fields = set(), set()
    for slug in pages():
        html = load(slug).html
        operations |= {section["id"] for section in html.select("section.operation") if section["id"] in examples()}
        fields |= {row["id"] for row in html.select("tbody[id]")}
    assert operations == set(examples())
    schemas = document()["components"]["schemas"]
    expected = {
        f"{component_table_name(name)}.{field}"
        for name, schema in schemas.items()
        if name != "Errors"
        for field in schema["properties"]
    }
    assert fields >= expected


def component_table_name(name: str) -> str:
    return name.removeprefix("New").replace("Changes", "")


def test_a_resource_has_a_table_of_fields(visitor):
    html = visitor.get(f"{PATH}/statuses").html
    rows = {
        row["id"]: [cell.get_text(" ", strip=True) for cell in row.find_all("td")] for row in html.select("tbody[id]")
    }
    assert rows["Status.id"] == ["id read-only", "integer", "no", "", ""]
    assert rows["Status.name"] == ["name required", "string", "no", "up to 255 characters", ""]
    assert rows["Status.kind"][3] == "post deal client"
    assert rows["Status.closed"] == ["closed", "boolean", "in requests", "", "false"]


def test_an_operation_has_its_parameters_body_errors_and_examples(visitor):
    html = visitor.get(f"{PATH}/clients").html
    section = html.find(id="create_client")
    text = section.get_text(" ", strip=True)
    assert text.startswith("Create a client POST /app/clients.json A blank name becomes first_name")
    assert section.find("a", href="#Client")
    assert "Idempotency-Key" in text
    assert [link.text for link in section.select("a[href*=errors]")] == [
        *("400", "401", "403", "404", "409", "413", "415", "422", "429", "503")
    ]
    request, response = section.select(".code pre")
    assert request.text.startswith("curl -X POST 'http://acme.example.test/app/clients.json'")
    assert '"name": "Ann Kowalska"' in response.text
    # A text in JSON has quotation marks.
    assert html.find(id="delete_client").select(".code pre")[1].text == '"ok"'
    # The response to a bulk request has alternatives, whose fields are in one table.
    rows = [row.text for row in html.select("#create_clients > div:first-child table:last-of-type td > code")]
    assert {"status", "client", "errors"} <= set(rows)


def test_every_link_and_anchor_resolves(load):
    """No page contains the placeholder of the address, or code that the Content-Security-Policy would block."""
    responses = {f"{PATH}/{slug}": load(slug) for slug in pages()}
    ids = {path: [element["id"] for element in page.html.find_all(id=True)] for path, page in responses.items()}
    for path, page in responses.items():
        assert ADDRESS not in page
        assert not re.search(r"<script>|<style| style=| on[a-z]+=", page.text)
        assert len(ids[path]) == len(set(ids[path])), path
        for link in page.html.select("article a[href]"):
            target = urljoin(f"http://acme.example.test{path}", link["href"])
            if target.startswith("http://acme.example.test/"):
                address = urlsplit(target)
                assert not address.fragment or address.fragment in ids[address.path], (path, link)
                assert address.path in responses, (path, link)
            else:
                assert target.startswith("https://"), target


# Words for the developers and operators of the service.
FOREIGN_WORDS = re.compile(
    r"\bmake (run|test|docs|manage)|\bthe tests\b|\btests/|\bpytest|\brepositor|\.(py|md|toml|env)\b|\bmanage\.py|create_account"
    r"|\.data\b|localhost|\bdocker|SQL statement|<!--",
    re.IGNORECASE,
)


def test_pages_speak_to_customers(load):
    """No page speaks of the repository, its files and tests, or of the address at which a developer runs the service."""
    for slug in ("", *pages()):
        text = load(slug).html.find("article").get_text(" ")
        found = FOREIGN_WORDS.search(text)
        assert found is None, (slug, text[max(found.start() - 60, 0) : found.end() + 60])


def test_every_link_of_the_guide_leads_somewhere(visitor):
    """A link without a target would be shown as text."""
    for document_name in {chapter.document for chapter in chapters()}:
        # The Markdown of an attachment in an example is no link of the guide.
        for label, href in re.findall(r"\[([^\]]+)\]\((?!/app/att)([^)\s]+)\)", text_for_customers(document_name)):
            assert link_target(href, document_name), (document_name, label, href)
            assert ".md" not in label


def test_a_guide_is_marked_as_english(acme):
    path = chapters()[0].path
    article = Visitor(acme.host, HTTP_ACCEPT_LANGUAGE="pl").get(path).html.find("article")
    assert article.find("h1")["lang"] == article.find(class_="prose")["lang"] == "en"
    assert "Ta strona jest dostępna tylko po angielsku." in article.get_text()
    assert "available in English only" not in acme.page().get(path)


def test_the_container_image_has_the_documents():
    ignored = (DOCUMENTS.parent / ".dockerignore").read_text().splitlines()
    assert {f"!docs/{chapter.document}" for chapter in chapters()} <= set(ignored)


def test_links_between_the_documents_resolve():
    """The reference shows a link that it cannot resolve as text, so a wrong anchor is not visible on a page."""
    documents = {chapter.document for chapter in chapters()}
    for document_name in documents:
        for href in re.findall(r"\]\(([^)\s]+)\)", (DOCUMENTS / document_name).read_text()):
            if (href.partition("#")[0] or document_name) in documents:
                assert link_target(href, document_name), (document_name, href)


def test_pages_are_small_and_take_few_statements(acme):
    bob = acme.page(acme.bob)
    bob.get(PATH)
    for slug in pages():
        response, queries = capture_queries(lambda path=f"{PATH}/{slug}?lang=php": bob.get(path))
        # Statements: the session, the forum, the numbers in the menus.
        assert len(queries) <= 5, queries
        # Of the 60 kB of a page, styles and scripts are about 30 kB.
        assert len(gzip.compress(response.body)) < 20_000
        assert len(response.body) < 140_000


def test_the_code_is_in_the_selected_language(visitor):
    page = visitor.get(f"{PATH}/clients?lang=ruby")
    code = page.html.select_one("#create_client .code pre").text
    assert code.startswith('require "net/http"\n')
    assert page.html.select_one("#create_client [aria-current]").text == "Ruby"
    assert visitor.get(f"{PATH}/clients?lang=cobol").html.select_one("#create_client [aria-current]").text == "curl"


def test_the_guide_has_the_whole_text_of_the_documents(load):
    shown = "".join(load(chapter.slug).html.find("article").text for chapter in chapters())
    words = re.sub(r"\s+", " ", shown)
    for name in ("integrating.md", "webhooks.md", "interface.md"):
        text = text_for_customers(name).replace(ADDRESS, "http://acme.example.test")
        for block in re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            assert re.sub(r"\s+", " ", block).strip() in words


@table(
    ("query", "path"),
    [
        ("try_update", f"{PATH}/guide-bulk-requests"),
        ("Create a client", f"{PATH}/clients#create_client"),
        ("tax_no", f"{PATH}/clients#Client.tax_no"),
        ("idempotency-key", f"{PATH}/guide-external-ids-and-repeated-requests"),
        ("409", f"{PATH}/errors#409"),
        ("/app/trash.json", f"{PATH}/trash#list_trash"),
    ],
)
def test_the_search_finds(visitor, query, path):
    results = visitor.get(PATH, {"q": query}).html.select("article li > a")
    assert path in [link["href"] for link in results][:10]


@table("query", ["", " ", "zzzz", "<script>", "x" * 5000, "\x00", "%", "' OR 1=1"])
def test_the_search_accepts_any_text(visitor, query):
    response = visitor.get(PATH, {"q": query})
    assert "<script>" not in response.html.find("article").decode_contents()


def test_an_excerpt_has_whole_words_around_the_first_match():
    words = [f"word{number}" for number in range(50)]
    assert excerpt_around(" ".join(words), "word20") == f"… {' '.join(words[12:37])} …"
    assert excerpt_around("one two", "two") == "one two"
    # The text spans two lines of the document.
    (result,) = [each for each in search("creates a client with it") if each.entry.title.startswith("External ids")]
    assert "creates a client with it" in result.excerpt


def test_the_best_match_comes_first():
    titles = [result.entry.title for result in search("list clients")]
    assert titles[0] == "List clients"
    assert len(search("a")) == 50


@table("slug", ["nothing", "swagger-ui", "guide-", "a" * 300])
def test_it_rejects_unknown_pages(visitor, slug):
    visitor.get(f"{PATH}/{slug}", status=404)


def test_it_is_served_at_the_hosts_of_the_service(acme):
    """These hosts have no forum, so their pages have no links to forum pages."""
    for host in ("example.test", "api.example.test"):
        client = Client(host)
        for path in (PATH, f"{PATH}/clients"):
            response = client.get(path)
            assert response.status_code == 200
            assert f"http://{host}" in response.text
            assert not re.search(r'href="(/app/sign-in[^"]*|/app/account/api)"', response.text)
            # The first page of the service, where visitors create accounts.
            assert ('href="/"' in response.text) == (host == "example.test")
    assert Client("nobody.example.test").get(PATH).status_code == 404


def test_only_the_team_gets_a_link_to_the_examples(acme):
    for user, is_shown in ((acme.bob, True), (acme.carol, False), (None, False)):
        page = acme.page(user).get(PATH)
        assert bool(page.html.select("article a[href='/app/account/api']")) is is_shown
        page = acme.page(user).get(f"{PATH}/clients?lang=php")
        links = [link["href"] for link in page.html.select("article a[href^='/app/account/api/']")]
        names = [section["id"] for section in page.html.select("section.operation")] if is_shown else []
        assert links == [f"/app/account/api/clients?lang=php#{name}" for name in names]


def test_it_is_in_polish(acme):
    visitor = acme.page()
    html = visitor.get(f"{PATH}/clients", headers={"Accept-Language": "pl"}).html
    assert html.find("h1").text == "Klienci"
    assert html.select_one("th").text == "Nazwa"
    # The guide is in English, and so are the titles of its chapters.
    title = visitor.get(f"{PATH}/guide-webhooks", headers={"Accept-Language": "pl"}).html.find("h1")
    assert (title.text, title["lang"]) == ("Webhooks", "en")
    titles = [link.text for link in html.select(".docs nav a[lang=en]")]
    assert titles == [chapter.title for chapter in chapters()]


@table(
    ("request_schema", "response_schema", "expected"),
    [
        ({"type": ["string", "null"], "maxLength": 3}, None, ("string", "yes", ("up to 3 characters",))),
        ({"type": "string", "minLength": 8, "maxLength": 9}, None, ("string", "no", ("8 to 9 characters",))),
        ({"type": ["string", "null"]}, {"type": "string"}, ("string", "in requests", ())),
        ({"type": "string"}, {"type": ["string", "null"]}, ("string", "yes", ())),
        ({"type": "integer", "minimum": -5, "maximum": 2**63}, None, ("integer", "no", ("≥\xa0-5",))),
        ({"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}, None, ("string (date)", "yes", ())),
        (
            {"type": "array", "items": {"type": "string"}, "maxItems": 1000},
            None,
            ("array of string", "no", ("up to 1,000 items",)),
        ),
        ({"type": "number", "multipleOf": 0.0001}, None, ("number", "no", ("up to 4 decimal places",))),
        # Limits of a number are not shown for texts and booleans.
        ({"type": ["number", "string"], "exclusiveMaximum": 9}, None, ("number", "no", ("<\xa09",))),
        ({"type": ["string", "integer"], "minimum": 10}, {"type": "string"}, ("string", "no", ())),
        ({"type": ["boolean", "string"], "minimum": 0}, {"type": "boolean"}, ("boolean", "no", ())),
        (None, {"const": True}, ("boolean", "no", ())),
        (None, {"enum": [201, 200]}, ("integer", "no", ())),
        (None, {}, ("any", "no", ())),
    ],
)
def test_a_schema_is_described(request_schema, response_schema, expected):
    field = make_field("x", request_schema, response_schema)
    assert (field.type, field.null, field.limits) == expected


def test_choices():
    field = make_field("x", {"enum": list(range(20))}, None)
    assert (len(field.choices), field.more_choices) == (12, 8)
    field = make_field("x", {"type": ["array", "null"], "items": {"enum": ["a", "b"]}}, None)
    assert (field.type, field.choices) == ("array of string", ("a", "b"))


def test_the_fields_of_requests_and_responses_are_merged():
    fields = {field.name: field for field in component_table("PostElement").rows}
    # The Forum API accepts the responsible user of an existing post only.
    assert fields["responsible-id"].in_requests
    assert not fields["votes-cache"].in_requests
    fields = {field.name: field for field in component_table("User").rows}
    assert not fields["id"].in_requests
    assert all(field.in_responses for field in fields.values())
