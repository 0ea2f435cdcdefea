"""Every documented example is executed, and every route is documented."""

import os
import re
import shutil
from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import get_resolver

from accounts.management.commands.demo import derive
from tests.examples import ROOT, Example, compare_pasted, paste, run_document
from tests.service import READY


@pytest.fixture
def demo(transactional_db, settings) -> dict[str, str]:
    """What `make run` prints, as the variables of the examples. They are committed, as the feed of changes sees them."""
    settings.BASE_DOMAIN = "localhost"
    settings.LOCAL_ACCOUNT = "demo"
    call_command("demo", stdout=StringIO())
    return {"PASSWORD": derive("demo password", 16), "API_TOKEN": f"{derive('demo token', 32)}/demo"}


def routes() -> set[tuple[str, str]]:
    """(method, route) of all that the service answers; HEAD goes with GET."""
    found = set()
    for pattern in get_resolver().url_patterns:
        for method in pattern.callback.actions:
            if method != "head":
                found.add((method.upper(), str(pattern.pattern)))
    return found


def route_of(example: Example) -> tuple[str, str]:
    path = re.sub(r"^https?://[^/]+/", "", example.url).partition("?")[0]
    pattern = next(pattern for pattern in get_resolver().url_patterns if pattern.pattern.match(path))
    return example.method, str(pattern.pattern)


def test_interface_is_as_documented(demo):
    examples = run_document(ROOT / "docs" / "interface.md", demo)
    assert routes() - {route_of(example) for example in examples} == set()


def test_readme_examples_answer_as_shown(demo):
    assert len(run_document(ROOT / "README.md", demo)) == 2


@pytest.mark.skipif(
    shutil.which("curl") is None, reason="curl is missing: docs/integrating.md is not pasted into a shell"
)
def test_integrating_can_be_pasted_into_a_shell(run):
    """On a fresh service, as it stands; and once more, as whoever lost the answers would."""
    document = ROOT / "docs" / "integrating.md"
    service = run()
    service.await_text(READY)
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(service.data)}
    answers = paste(document, environment)
    compare_pasted(document, answers, f"localhost:{service.port}")
    for first, again in zip(answers, paste(document, environment), strict=True):
        assert id_of(again) == id_of(first)
        assert not again.startswith("HTTP/1.1 201") or "idempotent-replayed: true" in again.lower()


def id_of(answer: str) -> str | None:
    found = re.search(r'^{"id":(\d+)', answer, re.MULTILINE)
    return found and found[1]


def test_readme_names_every_variable():
    from config.settings import ENVIRONMENT

    table = dict(re.findall(r"^\| `([A-Z_]+)` \| (?:`(.*?)`|.*?) \|", (ROOT / "README.md").read_text(), re.MULTILINE))
    read_elsewhere = {"PORT", "HOST", "WORKERS", "DATABASE_WAIT", "DATA_DIR", "PGBIN"}
    assert set(table) == {variable.name for variable in ENVIRONMENT.variables} | read_elsewhere
    for variable in ENVIRONMENT.variables:
        assert table[variable.name] == variable.default
        assert variable.purpose in (ROOT / "README.md").read_text()


def test_links_lead_somewhere():
    for document in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), ROOT / "bench" / "README.md"]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"
