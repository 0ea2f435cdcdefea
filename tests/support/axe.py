"""Accessibility checks by axe."""

import json
from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()

RULES = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


def faults_of_axe(page: Page) -> list[str]:
    """Return the violations that axe finds at the width and in the theme of the page.

    Menus are closed first, because they hide other elements.
    """
    page.evaluate("document.querySelectorAll('details.menu').forEach((element) => { element.open = false; })")
    options = {"runOnly": RULES, "resultTypes": ["violations"]}
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    violations = page.evaluate(f"axe.run(document, {json.dumps(options)}).then((report) => report.violations)")
    theme = "dark" if page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") else "light"
    return [
        f"{page.viewport_size['width']} px, {theme}: {violation['id']}: {node['failureSummary']}\n{node['html']}"
        for violation in violations
        for node in violation["nodes"]
    ]


def expect_no_faults(page: Page) -> None:
    """Assert that axe finds no violation on the page at its present width and in its present theme."""
    found = faults_of_axe(page)
    assert found == [], "\n\n".join(found)
