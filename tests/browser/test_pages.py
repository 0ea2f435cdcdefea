"""Accessibility of every page: axe, small screens, large text and the keyboard."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import BrowserContext, Page, Response

from tests.support.every_page import PAGES, page_routes, routes_listed
from tests.support.people import wait_until

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
WIDE, NARROW = 1200, 320
# The maximum transfer size of a first visit in bytes, with styles and scripts.
MAX_BYTES = 60_000

pytestmark = pytest.mark.django_db


def test_every_page_is_in_the_list():
    missing = page_routes() - set(routes_listed())
    assert missing == set(), "add these to PAGES in tests/support/every_page.py"
    assert set(routes_listed()) - page_routes() == set(), "remove these from PAGES: they are no pages"


@pytest.fixture(scope="module")
def windows(world, open_context) -> Callable[[str], "Window"]:
    """Return a function that opens one window for each user, and one for visitors."""
    return cache(lambda who: Window(open_context(secret=world.sessions.get(who, ""))))


@pytest.fixture(scope="module")
def frames() -> set[str]:
    """The frames (header and footer) that were already checked by keyboard."""
    return set()


@pytest.mark.parametrize("shown", PAGES, ids=str)
def test_every_page_is_accessible(world, windows, faults, frames, shown):
    """All checks share one visit of the page, which takes most of the time."""
    window = windows(shown.login)
    page, response = window.page, window.visit(shown.address(world))
    assert response.status == shown.status
    assert 0 < sum(window.weight.values()) < MAX_BYTES, window.weight
    if shown.prepare:
        shown.prepare(page)
    found = [*faults_for_the_keyboard(page, frames), *faults_by_axe(page), *faults_of_room(page)]
    assert found == [], "\n\n".join(found)


class Window:
    def __init__(self, context: BrowserContext):
        self.page = context.new_page()
        # Transfer sizes and URLs of the current page, by request.
        self.weight: dict[str, float] = {}
        self.asked: dict[str, str] = {}
        client = context.new_cdp_session(self.page)
        client.send("Network.enable")
        # Measure a first visit.
        client.send("Network.setCacheDisabled", {"cacheDisabled": True})
        client.on(
            "Network.requestWillBeSent",
            lambda event: self.asked.update({event["requestId"]: event["request"]["url"]}),
        )
        client.on(
            "Network.loadingFinished",
            lambda event: self.weight.update({event["requestId"]: event["encodedDataLength"]}),
        )

    def visit(self, address: str) -> Response | None:
        self.page.set_viewport_size({"width": WIDE, "height": 800})
        self.page.emulate_media(color_scheme="light")
        self.weight.clear()
        self.asked.clear()
        response = self.page.goto(address)
        parts = {response.url, *self.page.evaluate(PARTS)}
        # Chromium reports transfer sizes with a delay.
        wait_until(self.page, lambda: parts <= self.came, lambda: f"of {parts} only {self.came} came")
        return response

    @property
    def came(self) -> set[str]:
        return {self.asked[id] for id in self.weight if id in self.asked}


PARTS = "[...document.querySelectorAll('link[rel=stylesheet], script[src]')].map((one) => one.href || one.src)"
OPEN = "(kind) => document.querySelectorAll(kind).forEach((one) => { one.open = true; })"

# The keyboard

STOPS = "a[href], button, input, select, textarea, summary, [tabindex='0']"
# The elements outside of <main>: their names, classes and texts.
FRAME = """(stops) => [...document.querySelectorAll(stops)]
  .filter((one) => !one.closest("main"))
  .map((one) => [one.localName, one.className, one.textContent.trim()].join(" "))
  .join("\\n")"""
# Number the elements that Tab should reach, with one radio button of each group, and record each element that gets the focus,
# with whether it has an outline and is in view.
BEGIN = """([part, stops]) => {
  const groups = new Set();
  const wanted = [...document.querySelector(part).querySelectorAll(stops)]
    .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.disabled && one.tabIndex >= 0)
    .filter((one) => one.type !== "radio" || !groups.has(one.name) && groups.add(one.name))
    .map((one, number) => {
      one.dataset.number = number;
      if (one.type === "radio") document.getElementsByName(one.name).forEach((each) => { each.dataset.number = number; });
      return one.outerHTML.slice(0, 120);
    });
  window.reached = new Map();
  document.addEventListener("keyup", () => {
    const one = document.activeElement, { number } = one.dataset;
    if (number === undefined) return;
    const { outlineStyle, outlineWidth } = getComputedStyle(one);
    const box = one.getBoundingClientRect();
    const outlined = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
    window.reached.set(Number(number), outlined && box.width > 0 && box.bottom > 0 && box.top < innerHeight);
  });
  return wanted;
}"""


def faults_for_the_keyboard(page: Page, frames: set[str]) -> Iterator[str]:
    """Return elements that Tab does not reach. Check only <main> if the frame of the page was checked before."""
    page.evaluate(OPEN, "details")
    frame, part = page.evaluate(FRAME, STOPS), "html"
    if frame in frames:
        part = "main"
        page.locator(part).focus()
    frames.add(frame)
    wanted = page.evaluate(BEGIN, [part, STOPS])
    # One round from any start; the document itself is a stop too.
    for _ in range(len(wanted) + 3):
        page.keyboard.press("Tab")
    reached = dict(page.evaluate("[...window.reached]"))
    for number, html in enumerate(wanted):
        if number not in reached:
            yield f"Tab does not reach {html}"
        elif not reached[number]:
            yield f"the focus is not to be seen on {html}"


# axe

RULES = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
# Rules that depend on the width or the theme. The full set takes long, so it is only used for the first look.
CHANGING = {
    "type": "rule",
    "values": [
        "aria-hidden-focus",
        "button-name",
        "color-contrast",
        "link-name",
        "scrollable-region-focusable",
        "summary-name",
        "target-size",
    ],
}
COLORS = {"type": "rule", "values": ["color-contrast"]}
LOOKS = [(WIDE, "light", RULES), (WIDE, "dark", COLORS), (NARROW, "dark", CHANGING)]


def faults_by_axe(page: Page) -> Iterator[str]:
    """Return the violations that axe finds with all <details> open, except menus, which would hide other elements."""
    page.evaluate("document.querySelectorAll('details.menu').forEach((one) => { one.open = false; })")
    page.evaluate(AXE)
    for width, theme, rules in LOOKS:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=theme)
        options = json.dumps({"runOnly": rules, "resultTypes": ["violations"]})
        for fault in page.evaluate(f"axe.run(document, {options}).then((report) => report.violations)"):
            for node in fault["nodes"]:
                yield f"{width} px, {theme}: {fault['id']}: {node['failureSummary']}\n{node['html']}"


# Overflow

# Return the elements that overflow the page.
STICKING_OUT = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  return [...document.querySelectorAll("body *")]
    .filter((one) => one.getBoundingClientRect().right > width + 1)
    .map((one) => one.outerHTML.slice(0, 120));
}"""


def faults_of_room(page: Page) -> Iterator[str]:
    """Return the elements that make the page scroll horizontally, with all menus open."""
    page.evaluate(OPEN, "details")
    for width, size in ((NARROW, "100%"), (2 * NARROW, "200%"), (WIDE, "200%")):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate("(size) => { document.documentElement.style.fontSize = size; }", size)
        yield from (f"{width} px, letters of {size}: sticks out: {html}" for html in page.evaluate(STICKING_OUT))
