"""The documents: every example is executed, and every route and variable is documented."""

import gzip
import os
import re
import shutil
from io import StringIO
from pkgutil import resolve_name

import httpx
import pytest
from django.core.management import call_command
from django.urls import get_resolver

from accounts.account.models import Account
from config.management.commands.demo import demo_password, demo_token
from core.registry import registry
from core.search.declaration import searched_models
from tests.support.client import Client
from tests.support.examples import ROOT, UPDATING, Example, compare_pasted, paste, run_document
from tests.support.rooms import ROOMS
from tests.support.routes import TABLE, routes
from tests.support.service import READY


@pytest.fixture
def demo(transactional_db, settings) -> dict[str, str]:
    """Create the bare demo account, and return its credentials as the variables of the examples.

    The rows are committed, because the change feed reads only committed changes.
    """
    return make_demo(settings, bare=True)


def make_demo(settings, *, bare: bool) -> dict[str, str]:
    settings.BASE_DOMAIN = "localhost"
    settings.LOCAL_ACCOUNT = "demo"
    call_command("demo", stdout=StringIO(), bare=bare)
    return {"PASSWORD": demo_password(), "API_TOKEN": demo_token()}


def route_of(example: Example) -> tuple[str, str]:
    path = re.sub(r"^https?://[^/]+/", "", example.url).partition("?")[0]
    pattern = next(pattern for pattern in get_resolver().url_patterns if pattern.pattern.match(path))
    return example.method, str(pattern.pattern)


# Routes of which the examples show a refusal: the bare demo account has nothing to act on, or another route shows the same with success.
REFUSED_IN_EXAMPLES = {
    ("DELETE", "app/clients.json"),
    ("DELETE", "app/imports/<id:id>.json"),
    ("DELETE", "app/messages/<id:id>.json"),
    ("DELETE", "app/users/<id:id>.json"),
    ("POST", "app/bulk_changes/<id:id>/cancel.json"),
    ("POST", "app/clients/<id:id>/merge.json"),
    ("POST", "app/clients/bulk.json"),
    ("POST", "app/clients/duplicates/dismiss.json"),
    ("POST", "app/imports/<id:id>/cancel.json"),
    ("POST", "app/notifications/<id:id>/read.json"),
}


def test_examples_of_the_interface_cover_every_route(demo):
    examples = run_document(ROOT / "docs" / "interface.md", demo)
    # The API examples in the settings show the routes of a resource that is nothing but its declaration.
    declared = {(row.method, row.route) for row in TABLE if row.is_derived}
    covered = {route_of(example) for example in examples}
    assert routes() - declared - covered == set()
    # PATCH does the same as PUT.
    succeeding = {route_of(example) for example in examples if example.status < 400}
    succeeding |= {("PATCH", route) for method, route in succeeding if method == "PUT"}
    succeeding |= {("PUT", route) for method, route in succeeding if method == "PATCH"}
    assert covered - succeeding == REFUSED_IN_EXAMPLES


def test_the_interface_lists_the_resources():
    path = ROOT / "docs" / "interface.md"
    head, start, rest = path.read_text().partition("| key | resources | kept in the trash |\n|---|---|---|\n")
    table, end, tail = rest.partition("\n### Changes")
    rows = [
        f"| `{resource.key}` | {str(resource.plural_label).lower()} | {'yes' if resource.is_trashable else ''} |\n"
        for resource in registry
    ]
    if UPDATING:
        table = "".join(rows)
        path.write_text(f"{head}{start}{table}{end}{tail}")
    assert table.strip("\n").split("\n") == "".join(rows).strip("\n").split("\n")


# The names of resources in the table of filters, where they differ from those on pages.
NAMES_OF_LISTS = {"suggestions and tasks": "posts", "fields": "field definitions"}
# Filters that several lists have.
COMMON_FILTERS = {"q", "tag", "updated_since", "external_ids", "email"}


def test_the_interface_lists_the_filters_of_each_resource():
    path = ROOT / "docs" / "interface.md"
    text = path.read_text()
    documented = {row[1]: row for row in re.finditer(r"^\| of ([a-z ]+) \| (.+) \|\n", text, re.MULTILINE)}
    filters = {}
    for resource in registry:
        name = str(resource.plural_label).lower()
        declared = getattr(resource.viewset.filterset_class, "base_filters", ())
        filters[NAMES_OF_LISTS.get(name, name)] = [filter for filter in declared if filter not in COMMON_FILTERS]
    if UPDATING:
        new = [name for name, names in filters.items() if names and name not in documented]
        end = max(row.end() for row in documented.values())
        rows = [f"| of {name} | {', '.join(f'`{filter}`' for filter in filters[name])} |\n" for name in new]
        path.write_text(text[:end] + "".join(rows) + text[end:])
        return
    rows = {name: documented[name][2] if name in documented else "" for name in filters}
    missing = {name: [filter for filter in filters[name] if f"`{filter}`" not in rows[name]] for name in filters}
    assert {name: names for name, names in missing.items() if names} == {}


SEARCHED_FIELDS_ARE_MISSING = "docs/interface.md does not list the searched fields of {0}; run `make docs`: {1}"


def searched_row(model: type) -> tuple[str, str]:
    """Return the name of a resource and its row in the table of searched fields."""
    search = model.search
    name = {"posts": "posts, tasks"}.get(*[str(model._meta.verbose_name_plural)] * 2)
    # A derived name is not a field of the API.
    names = [search.name_field] if model._meta.get_field(search.name_field).editable else []
    short = [*names, *search.short, *search.numbers]
    cells = (", ".join(f"`{field}`" for field in fields) for fields in (short, search.only_words))
    return name, f"| {name} | {' | '.join(cells)} |".replace("|  |", "| |")


def test_the_interface_lists_the_searched_fields():
    path = ROOT / "docs" / "interface.md"
    head, start, rest = path.read_text().partition("| of | names and short texts | words only |\n|---|---|---|\n")
    table, end, tail = rest.partition("\n\n")
    lines = table.split("\n")
    rows = dict(sorted(searched_row(model) for model in searched_models()))
    if UPDATING:
        lines = list(rows.values())
        path.write_text(head + start + "\n".join(lines) + end + tail)
    for name, row in rows.items():
        assert row in lines, SEARCHED_FIELDS_ARE_MISSING.format(name, row)
    assert len(lines) == len(rows)


def test_examples_of_the_readme_have_the_documented_responses(transactional_db, settings):
    assert len(run_document(ROOT / "README.md", make_demo(settings, bare=False))) == 2


@pytest.mark.skipif(
    shutil.which("curl") is None, reason="curl is missing: docs/integrating.md is not pasted into a shell"
)
def test_commands_of_the_integration_guide_run_in_a_shell(start_new_service):
    """The commands work on a new service, and again on the same one."""
    document = ROOT / "docs" / "integrating.md"
    service = start_new_service(DEMO="")
    service.wait_for_output(READY)
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(service.data)}
    responses = paste(document, environment)
    compare_pasted(document, responses, f"localhost:{service.port}")
    for first, repeated in zip(responses, paste(document, environment), strict=True):
        assert id_of(repeated) == id_of(first)
        assert not repeated.startswith("HTTP/1.1 201") or "idempotent-replayed: true" in repeated.lower()


def id_of(response: str) -> str | None:
    match = re.search(r'^{"id":(\d+)', response, re.MULTILINE)
    return match and match[1]


def test_tables_of_the_migration_guide_have_the_documented_responses(demo):
    """Each line has three cells: the subject; the request; the status with parts of the response."""
    count = 0
    account = Account.objects.get(prefix="demo")
    # A row that the bare demo account lacks, so that the following ids are as the document shows them.
    account.categories.create(id=10**6, forum_id=account.forums.get().id, name="Shop and checkout", position=2)
    for line in (ROOT / "docs" / "migrating.md").read_text().splitlines():
        cells = line.strip("| ").split(" | ")
        if len(cells) == 3 and cells[1].startswith("`"):
            count += 1
            call_parts = re.findall("`(.+?)`", cells[1])
            secret = demo["API_TOKEN"].partition("/")[0]
            call_parts = [
                part.replace("$API_TOKEN", demo["API_TOKEN"]).replace("$API_SECRET", secret) for part in call_parts
            ]
            response = call(*call_parts, demo=demo)
            status, _, response_parts = cells[2].partition(": ")
            whole_response = "\n".join(
                [response.text, *(f"{name}: {value}" for name, value in response.headers.multi_items())]
            )
            assert response.status_code == int(status), (cells, whole_response)
            for part in re.findall("`(.+?)`", response_parts):
                assert part.lower() in whole_response.lower(), (cells, whole_response)
    assert count > 40


def call(request: str, *options: str, demo: dict[str, str]) -> httpx.Response:
    method, _, path = request.partition(" ")
    suffix = "json" if ".json" in path else "xml"
    headers, body, auth = {}, "", ("demo", demo["PASSWORD"]) if suffix == "xml" else None
    for part in options:
        if header := re.fullmatch(r"([A-Z][A-Za-z-]+): (.*)", part):
            headers[header[1]] = header[2]
        elif credentials := re.fullmatch(r"([\w@.]+):(\$PASSWORD|\w+)", part):
            auth = (credentials[1], credentials[2].replace("$PASSWORD", demo["PASSWORD"]))
        else:
            body = part.replace(r"\r\n", "\r\n")
    if body:
        headers = {"Content-Type": f"application/{suffix}"} | headers
    if suffix == "json" and "api_token" not in request + body:
        headers = {"Authorization": f"Bearer {demo['API_TOKEN']}"} | headers
    charset = headers.get("Content-Type", "").partition("charset=")[2] or "utf-8"
    content = body.encode(charset)
    if headers.get("Content-Encoding") == "gzip":
        content = gzip.compress(content)
    with Client("localhost:8000", auth=auth) as client:
        return client.request(method, path, headers=headers, content=content)


def variables_read() -> set[str]:
    """Return the environment variables that the code of the service reads."""
    reads = re.compile(r'(?:os\.environ|os\.environ\.get|values\.get|_read)[\[(]\s*"([A-Z_]+)"')
    files = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    return {name for path in files for name in reads.findall(path.read_text())}


def test_the_readme_lists_every_variable():
    from config.settings import ENVIRONMENT

    table = dict(re.findall(r"^\| `([A-Z_]+)` \| (?:`(.*?)`|.*?) \|", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert set(table) == variables_read() - {"LOCAL_ACCOUNT"}  # which only `make run` sets
    for variable in ENVIRONMENT.variables:
        assert table[variable.name] == variable.default
        assert variable.purpose in (ROOT / "README.md").read_text()


def test_the_containers_get_every_variable():
    from config.settings import ENVIRONMENT

    compose, example = (ROOT / "docker-compose.yml").read_text(), (ROOT / ".env.example").read_text()
    example_values = dict(re.findall(r"^([A-Z_]+)=(.*)$", example, re.MULTILINE))
    for variable in ENVIRONMENT.variables:
        name = variable.name
        # The image or the compose file sets these.
        if name in ("PORT", "HOST", "DATABASE_WAIT", "TRUST_PROXY", "TLS_ASK_ADDRESSES", "FILES_DIR"):
            continue
        passed_value = re.search(rf"^    {name}: (.*)$", compose, re.MULTILINE)
        assert passed_value is not None, name
        assert name in example_values, name
        default = re.search(r":-(.*)}$", passed_value[1])
        assert default is not None, name
        # The only source of these values is .env, or a volume.
        if not default[1]:
            continue
        # Defaults are the same in all files.
        assert default[1] == variable.default == example_values[name]


DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "bench" / "README.md"]
# The package of the recipe for a resource, and the name of a template.
NOT_FILES = {
    *(
        "crm/products",
        "crm/products/models.py",
        "crm/products/api.py",
        "crm/products/openapi.yaml",
        "tests/crm/test_products.py",
    ),
    "forum/posts/post.html",
}


def test_targets_of_links_exist():
    for document in DOCUMENTS:
        for target, anchor in re.findall(r"\]\((?!https?:|/app/)([^)#]*)#?([^)]*)\)", document.read_text()):
            path = document.parent / target if target else document
            assert path.exists(), f"{document.name} links to {target}"
            assert not anchor or anchor in anchors_of(path.read_text()), f"{document.name} links to {target}#{anchor}"


def anchors_of(text: str) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a document."""
    headings = re.findall("^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_files_and_modules_that_documents_name_exist():
    rooms = "|".join((*ROOMS, "tests"))
    for document in DOCUMENTS:
        text = document.read_text()
        for path in set(re.findall(rf"`((?:{rooms})/[\w./]+)`", text)) - NOT_FILES:
            assert (ROOT / path).exists(), f"{document.name} names {path}"
        for name in re.findall(rf"`((?:{rooms})(?:\.\w+)+)`", text):
            if not name.endswith((".md", ".xml")):
                assert resolve_name(name), f"{document.name} names {name}"
