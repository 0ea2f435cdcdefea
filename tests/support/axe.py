"""Accessibility checks by axe."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()

ALL_RULES = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
# A width, a theme and the rules to check.
Layout = tuple[int, str, dict[str, object]]


def faults_of_axe(page: Page, layouts: Iterable[Layout]) -> Iterator[str]:
    """Return the violations that axe finds, without those of menus, which would hide other elements."""
    page.evaluate("document.querySelectorAll('details.menu').forEach((element) => { element.open = false; })")
    page.evaluate(AXE)
    for width, theme, rules in layouts:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=theme)
        options = json.dumps({"runOnly": rules, "resultTypes": ["violations"]})
        for violation in page.evaluate(f"axe.run(document, {options}).then((report) => report.violations)"):
            for node in violation["nodes"]:
                yield f"{width} px, {theme}: {violation['id']}: {node['failureSummary']}\n{node['html']}"


def expect_no_faults(page: Page, *, javascript: bool = True) -> None:
    """Assert that axe finds no violation on the page as it is shown now. Without JavaScript axe does not run: its timers are disabled."""
    if not javascript:
        return
    size = page.viewport_size
    assert size is not None
    found = list(faults_of_axe(page, [(size["width"], "light", ALL_RULES)]))
    assert found == [], "\n\n".join(found)
