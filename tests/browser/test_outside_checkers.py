"""Every page under the checkers of others: the Nu validator, and HTML CodeSniffer, with which pa11y finds faults."""

import json
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings

from tests.support.every_page import PAGES

pytestmark = [
    pytest.mark.soak,
    pytest.mark.django_db,
    pytest.mark.skipif(not shutil.which("npm") or not shutil.which("java"), reason="needs npm and Java"),
]

PACKAGES = ["vnu-jar@26.9.27", "@pa11y/html_codesniffer@2.6.0"]
# Findings of the validator that remain, each with the reason.
EXPLAINED = {
    "Attribute “hx-": "htmx reads these attributes, and browsers ignore them",
    "Article lacks heading": "a comment is an article without a title",
    "only allowed when the input type is": "some browsers show a text field instead of <input type=month>",
    "“hidden” must not have any “aria-*” attributes": "Django repeats the attributes in the hidden initial value",
}
# H32.2 demands a button that sends the form. The key Enter sends a form with one field, and `test_pages_without_javascript` demands a
# button in all others. Elements that are hidden have no name yet.
SNIFF = """() => new Promise((resolve) => HTMLCS.process("WCAG2AA", document, () => resolve(
  HTMLCS.getMessages().filter((found) => found.type === HTMLCS.ERROR && !found.code.endsWith("H32.2") && !found.element.closest("[hidden]"))
    .map((found) => `${found.code}: ${found.msg}: ${found.element.outerHTML?.slice(0, 200).replace(/\\s+/g, ' ')}`))))"""


@pytest.fixture(scope="module")
def packages() -> Path:
    folder = settings.BASE_DIR / ".cache" / "checkers"
    subprocess.run(["npm", "install", "--silent", "--no-save", "--prefix", folder, *PACKAGES], check=True)
    return folder / "node_modules"


@pytest.fixture
def window(world, open_context) -> Callable:
    return cache(lambda login: open_context(secret=world.sessions.get(login, "")).new_page())


def test_pages_are_valid_html(world, window, packages, tmp_path):
    for number, case in enumerate(PAGES):
        page = window(case.login)
        # Scripts do not change the body of the response.
        response = page.goto(case.address(world))
        if "text/html" in response.headers["content-type"]:
            name = "".join(letter if letter.isalnum() else "-" for letter in str(case))
            (tmp_path / f"{number}{name}.html").write_bytes(response.body())
    files = sorted(tmp_path.glob("*.html"))
    assert len(files) > 150
    command = ["java", "-jar", packages / "vnu-jar/build/dist/vnu.jar", "--format", "json", *files]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stderr)
    found = {
        f"{Path(message['url']).name}: {message['message']} {message.get('extract')}"
        for message in report["messages"]
        if not any(part in message["message"] for part in EXPLAINED)
    }
    assert found == set(), "\n".join(sorted(found))


def test_pages_pass_html_codesniffer(world, window, packages):
    script = (packages / "@pa11y/html_codesniffer/build/HTMLCS.js").read_text()
    faults = []
    for case in PAGES:
        page = window(case.login)
        page.goto(case.address(world))
        if case.prepare:
            case.prepare(page)
            page.wait_for_load_state()
        page.evaluate(script)
        # HTML allows this value in such a field.
        found = [fault for fault in page.evaluate(SNIFF) if "Invalid autocomplete value: url" not in fault]
        faults += [f"{case}: {fault}" for fault in found]
    assert faults == [], "\n".join(faults)
