"""Accessibility checks by axe."""

import contextlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()

ALL_RULES = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
# A width, a theme and the rules to check.
Layout = tuple[int, str, dict[str, object]]


# Replace each <noscript> by its content. Otherwise Chromium hides it when scripts are enabled, and axe does not check it.
UNWRAP_NOSCRIPT = "document.querySelectorAll('noscript').forEach((each) => { each.replaceWith(...each.childNodes); })"


def faults_of_axe(page: Page, layouts: Iterable[Layout]) -> Iterator[str]:
    """Yield the violations that axe finds. Menus are closed first, because they hide other elements."""
    page.evaluate("document.querySelectorAll('details.menu').forEach((element) => { element.open = false; })")
    with scripts_enabled(page):
        page.evaluate(AXE)
        for width, theme, rules in layouts:
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=theme)
            options = json.dumps({"runOnly": rules, "resultTypes": ["violations"]})
            for violation in page.evaluate(f"axe.run(document, {options}).then((report) => report.violations)"):
                for node in violation["nodes"]:
                    yield f"{width} px, {theme}: {violation['id']}: {node['failureSummary']}\n{node['html']}"


@contextlib.contextmanager
def scripts_enabled(page: Page) -> Iterator[None]:
    """Enable scripts on a page without JavaScript, because axe uses timers.

    The scripts of the page do not run, because the browser has already skipped them. Styles for `scripting: none` do not apply inside.
    """
    if page.evaluate("matchMedia('(scripting: enabled)').matches"):
        yield
        return
    page.evaluate(UNWRAP_NOSCRIPT)
    session = page.context.new_cdp_session(page)
    # Each session has its own setting, and Playwright's disables scripts. Only a change from true to false overrides it.
    for disabled in (True, False):
        session.send("Emulation.setScriptExecutionDisabled", {"value": disabled})
    try:
        yield
    finally:
        session.send("Emulation.setScriptExecutionDisabled", {"value": True})
        session.detach()


def expect_no_faults(page: Page) -> None:
    """Assert that axe finds no violation on the page at its present width and in its present theme."""
    size = page.viewport_size
    assert size is not None
    theme = "dark" if page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") else "light"
    found = list(faults_of_axe(page, [(size["width"], theme, ALL_RULES)]))
    assert found == [], "\n\n".join(found)
