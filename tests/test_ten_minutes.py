"""The recipes of CONTRIBUTING.md, executed in a copy of the code."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent

import pytest

from tests.support.examples import ROOT

FIELD = '    nickname = TrimmedText(_("Nickname"), group="company", searched="short")\n'
# A test of the copy: the field is in every place that derives from its declaration.
CHECK = """
from core.openapi.document import document
from crm.clients.models import Client
from tests.support.exports import exported
from tests.support.factories import make_client


def test_the_field_is_everywhere(acme):
    json = acme.json()
    created = json.post("/app/clients.json", json={"client": {"name": "Ann", "nickname": " Annie "}})
    assert created.status_code == 201
    client = created.json()
    assert client["nickname"] == "Annie"
    other = make_client(acme.alice, "Bob")
    assert json.get(f"/app/clients/{other.id}.json").json()["nickname"] is None
    refused = json.put(f"/app/clients/{other.id}.json", json={"client": {"nickname": "x" * 256}})
    assert refused.json()["errors"] == {"nickname": ["is too long (maximum is 255 characters)"]}
    found = json.get("/app/clients.json", params={"nickname__contains": "nni"}).json()
    assert [row["id"] for row in found] == [client["id"]]
    for query in ("annie", "nni"):
        assert [row["id"] for row in json.get("/app/clients.json", params={"q": query}).json()] == [client["id"]]

    page = acme.page(acme.alice)
    listed = page.get("/app/clients?columns=nickname&nickname=Annie")
    assert "Annie" in listed.text and "Nickname" in listed.text and "Bob" not in listed.text
    rows = exported(page, "client", "columns=name,nickname")
    assert rows[0][2] == "Nickname" and {"Annie", ""} == {row[2] for row in rows[1:]}
    record = page.get(f"/app/clients/{client['id']}/edit?field=nickname")
    assert "Annie" in record.text
    json.put(f"/app/clients/{client['id']}.json", json={"client": {"nickname": "Anna"}})
    assert "Nickname" in page.get(f"/app/clients/{client['id']}").text

    schemas = document()["components"]["schemas"]
    assert schemas["Client"]["properties"]["nickname"]["type"] == ["string", "null"]
"""


@pytest.fixture
def tree() -> Iterator[Path]:
    """A copy of the code, with the environment of this one. Its path is short, because that of a socket has at most 107 bytes."""
    with TemporaryDirectory(prefix="rostrum-") as directory:
        copy(Path(directory))
        yield Path(directory)


def copy(tree: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    for name in listed:
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    (tree / ".venv").symlink_to(ROOT / ".venv")


def run(tree: Path, *command: str, **variables: str) -> str:
    # Nothing of this run, such as its database.
    environment = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    environment |= {
        "SECRET_KEY": "-" * 60,
        "BASE_DOMAIN": "example.com",
        "EMAIL_URL": "console:",
        "FILES_DIR": "/files",
        **variables,
    }
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def contents(tree: Path) -> dict[str, bytes]:
    paths = (
        path
        for path in tree.rglob("*")
        if not {".venv", ".cache", ".pytest_cache", ".ruff_cache", ".mypy_cache", "__pycache__"}
        & {*path.relative_to(tree).parts}
    )
    return {path.relative_to(tree).as_posix(): path.read_bytes() for path in paths if path.is_file()}


def changes_since(tree: Path, before: dict[str, bytes]) -> set[str]:
    after = contents(tree)
    return {name for name in after if after[name] != before.get(name)}


def make_migration(tree: Path, name: str) -> tuple[str, str]:
    """Run `makemigrations`. Return what it prints and the migration."""
    command = (sys.executable, "manage.py", "makemigrations", "crm", "-n", name)
    printed = run(tree, *command, DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing")
    [migration] = (tree / "crm" / "migrations").glob(f"*_{name}.py")
    return printed, migration.read_text()


def translate(tree: Path, texts: dict[str, str]) -> None:
    """Run `make messages`, write the Polish texts, and run it again."""
    run(tree, "make", "messages")
    catalogue = tree / "locale" / "pl" / "LC_MESSAGES" / "django.po"
    content = catalogue.read_text()
    for text, polish in texts.items():
        content = content.replace(f'msgid "{text}"\nmsgstr ""', f'msgid "{text}"\nmsgstr "{polish}"')
    catalogue.write_text(content)
    run(tree, "make", "messages")


def run_tests(tree: Path, *tests: str) -> None:
    run(tree, sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "not soak", "-p", "no:cacheprovider", *tests)


@pytest.mark.soak
def test_a_field_takes_one_line(tree):
    before = contents(tree)
    models = tree / "crm" / "clients" / "models.py"
    models.write_text(models.read_text().replace("    kind = Text(", FIELD + "    kind = Text(", 1))
    printed, migration = make_migration(tree, "client_nickname")
    assert "+ Add field nickname to client" in printed
    assert re.findall(r"migrations\.(\w+)\(", migration) == ["AddField", "RunSQL"]
    translate(tree, {"Nickname": "Pseudonim"})
    run(tree, "make", "docs")

    by_hand = {"crm/clients/models.py", "locale/pl/LC_MESSAGES/django.po"}
    generated = {
        "docs/interface.md",
        "docs/schema.sql",
        "locale/pl/LC_MESSAGES/django.mo",
    }
    changed = {re.sub(r"crm/migrations/\d+_", "crm/migrations/", name) for name in changes_since(tree, before)}
    assert changed == by_hand | generated | {"crm/migrations/client_nickname.py"}
    (tree / "tests" / "test_recipe.py").write_text(CHECK)
    run_tests(
        tree,
        "tests/test_recipe.py",
        "tests/test_words.py",
        "tests/test_search_declaration.py",
        "tests/test_migrations.py",
        "tests/accounts/fields",
        "tests/crm/clients",
    )


def recipe_files(tree: Path) -> dict[str, str]:
    """Return the files that CONTRIBUTING.md shows for a resource, by their paths."""
    section = (tree / "CONTRIBUTING.md").read_text().partition("## Add a resource\n")[2].partition("\n## ")[0]
    files = {}
    for step in re.split(r"^\d\. ", section, flags=re.MULTILINE)[1:]:
        path = re.search(r"`((?:crm|tests)/[\w/]+\.(?:py|yaml))`", step)
        block = re.search(r"```\w+\n(.*?)```", step, re.DOTALL)
        if path and block:
            files[path[1]] = dedent(block[1]).rstrip(" ")
    return files


@pytest.mark.soak
def test_a_resource_takes_eight_files(tree):
    before = contents(tree)
    files = recipe_files(tree)
    subjects = files.pop("crm/apps.py")
    room = tree / "crm" / "apps.py"
    room.write_text(re.sub(r"    subjects = .*\n", f"    {subjects}", room.read_text()))
    for name, content in {"crm/products/__init__.py": "", **files}.items():
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text(content)

    printed, migration = make_migration(tree, "product")
    assert "+ Create model Product" in printed
    assert migration.count("core_record_change('product', 'trashable')") == 1
    translate(
        tree,
        {
            "Product": "Produkt",
            "Products": "Produkty",
            "Price": "Cena",
            "Create a product": "Utwórz produkt",
            "List products": "Lista produktów",
            "Read a product": "Odczytaj produkt",
            "Update a product": "Zmień produkt",
            "Delete a product": "Usuń produkt",
            "The product with that id.": "Produkt o tym identyfikatorze.",
            "The code is searched too.": "Kod jest również przeszukiwany.",
        },
    )
    run(tree, "make", "docs", "format")

    # The eighth file is CHANGELOG.md.
    by_hand = {"crm/apps.py", "crm/products/__init__.py", "locale/pl/LC_MESSAGES/django.po", *files}
    assert len(by_hand) == 7
    generated = {
        "docs/design.md",
        "docs/interface.md",
        "docs/schema.sql",
        "locale/pl/LC_MESSAGES/django.mo",
    }
    changed = {re.sub(r"crm/migrations/\d+_", "crm/migrations/", name) for name in changes_since(tree, before)}
    assert changed == by_hand | generated | {"crm/migrations/product.py"}
    run_tests(
        tree,
        "tests/crm/test_products.py",
        "tests/test_words.py",
        "tests/test_search_declaration.py",
        "tests/test_migrations.py",
        "tests/test_indexes.py",
        "tests/test_layout.py",
        "tests/test_rooms.py",
        "tests/test_routes.py",
        "tests/test_route_contracts.py",
        "tests/test_route_names.py",
        "tests/test_resources.py",
        "tests/test_design.py",
        "tests/core/test_registry.py",
        "tests/accounts/examples",
        "tests/accounts/trash",
        "tests/openapi",
    )
    run(tree, sys.executable, "-m", "mypy", "crm", "config")
    run(tree, sys.executable, "-m", "ruff", "check")
