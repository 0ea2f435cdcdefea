"""The recipes of CONTRIBUTING.md, executed in a copy of the code."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.examples import ROOT

FIELD = '    nickname = TrimmedText(_("Nickname"), group="company", searched="short")\n'
# A test of the copy: the field is in every place that derives from its declaration.
CHECK = """
from core.openapi.document import document
from crm.clients.models import Client
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
    exported = page.get("/app/clients/export.csv?columns=name,nickname").text
    assert "Nickname" in exported and "Annie" in exported
    record = page.get(f"/app/clients/{client['id']}/edit?field=nickname")
    assert "Annie" in record.text
    json.put(f"/app/clients/{client['id']}.json", json={"client": {"nickname": "Anna"}})
    assert "Nickname" in page.get(f"/app/clients/{client['id']}").text

    schemas = document()["components"]["schemas"]
    assert schemas["Client"]["properties"]["nickname"]["type"] == ["string", "null"]
"""


@pytest.fixture
def tree(tmp_path) -> Path:
    """A copy of the code, with the environment of this one."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    for name in listed:
        if (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tmp_path / name)
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    return tmp_path


def run(tree: Path, *command: str, **variables: str) -> str:
    # Nothing of this run, such as its database.
    environment = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    environment |= {"SECRET_KEY": "-" * 60, "BASE_DOMAIN": "example.com", "EMAIL_URL": "console:", **variables}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def contents(tree: Path) -> dict[str, bytes]:
    paths = (
        path
        for path in tree.rglob("*")
        if not {".venv", ".cache", ".pytest_cache", "__pycache__"} & {*path.relative_to(tree).parts}
    )
    return {path.relative_to(tree).as_posix(): path.read_bytes() for path in paths if path.is_file()}


@pytest.mark.soak
def test_a_field_takes_one_line(tree):
    before = contents(tree)
    models = tree / "crm" / "clients" / "models.py"
    models.write_text(models.read_text().replace("    kind = Text(", FIELD + "    kind = Text(", 1))

    python = sys.executable
    unused = "postgresql://nobody@127.0.0.1:1/nothing"
    command = (python, "manage.py", "makemigrations", "crm", "-n", "client_nickname")
    assert "+ Add field nickname to client" in run(tree, *command, DATABASE_URL=unused)
    migration = (tree / "crm" / "migrations" / "0002_client_nickname.py").read_text()
    assert re.findall(r"migrations\.(\w+)\(", migration) == ["AddField", "RunSQL"]
    run(tree, "make", "messages")
    catalogue = tree / "locale" / "pl" / "LC_MESSAGES" / "django.po"
    catalogue.write_text(
        catalogue.read_text().replace('msgid "Nickname"\nmsgstr ""', 'msgid "Nickname"\nmsgstr "Pseudonim"')
    )
    run(tree, "make", "messages")
    run(tree, "make", "docs")

    after = contents(tree)
    changed = {name for name in after if after[name] != before.get(name)}
    by_hand = {"crm/clients/models.py", "locale/pl/LC_MESSAGES/django.po"}
    generated = {
        "crm/migrations/0002_client_nickname.py",
        "docs/interface.md",
        "docs/schema.sql",
        "locale/pl/LC_MESSAGES/django.mo",
    }
    assert changed == by_hand | generated

    (tree / "tests" / "test_recipe.py").write_text(CHECK)
    tests = (
        "tests/test_recipe.py",
        "tests/test_words.py",
        "tests/test_search_declaration.py",
        "tests/test_migrations.py",
        "tests/crm/fields",
        "tests/crm/clients",
    )
    run(tree, python, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *tests)
