"""Accessibility of every page: axe, small screens, large text, the keyboard, and clicks in menus."""

from collections.abc import Callable, Iterator
from functools import cache

import pytest
from playwright.sync_api import BrowserContext, Page, Response

from tests.support.axe import ALL_RULES, faults_of_axe
from tests.support.every_page import PAGES, page_routes, routes_listed
from tests.support.menus import faults_of_menus
from tests.support.people import wait_until

WIDE, PHONE, NARROW = 1200, 390, 320
# The maximum transfer size of a first visit in bytes, with styles and scripts.
MAX_BYTES = 60_000
# These pages have the language of the e-mail that links to them, whatever the browser prefers.
IN_LANGUAGE_OF_EMAIL = {"app/unsubscribe", "app/unsubscribe/customer"}

pytestmark = pytest.mark.django_db


def test_every_page_is_in_the_list():
    missing = page_routes() - set(routes_listed())
    assert missing == set(), "add these to PAGES in tests/support/every_page.py"
    assert set(routes_listed()) - page_routes() == set(), "remove these from PAGES: they are no pages"


@pytest.fixture(scope="module")
def windows(world, open_context) -> Callable[[str], "Window"]:
    """Return a function that opens one window for each user, and one for visitors."""
    return cache(lambda login: Window(open_context(secret=world.sessions.get(login, ""))))


@pytest.fixture(scope="module")
def frames() -> set[str]:
    """Return the frames (header and footer) that were already checked by keyboard."""
    return set()


@pytest.mark.parametrize("case", PAGES, ids=str)
def test_every_page_is_accessible(world, windows, faults, frames, case):
    """All checks share one visit of the page, which takes most of the time."""
    window = windows(case.login)
    page, response = window.page, window.visit(case.address(world))
    assert response.status == case.status
    assert 0 < sum(window.weight.values()) < MAX_BYTES, window.weight
    if case.prepare:
        case.prepare(page)
    all_faults = [
        *page.evaluate(FAULTS_OF_NAMES),
        *faults_of_keyboard(page, frames),
        *faults_of_menus(page),
        *faults_of_axe(page, LAYOUTS),
        *faults_of_overflow(page),
    ]
    assert all_faults == [], "\n\n".join(all_faults)


@pytest.fixture(scope="module")
def pages_without_javascript(world, open_context) -> Callable[[str], Page]:
    """Return a function that opens one page without JavaScript and in Polish for each user, and one for visitors."""
    return cache(
        lambda login: open_context(
            secret=world.sessions.get(login, ""), javascript=False, theme="dark", width=PHONE, language="pl"
        ).new_page()
    )


@pytest.mark.parametrize("case", [case for case in PAGES if not case.prepare], ids=str)
def test_every_page_is_accessible_without_javascript(world, pages_without_javascript, faults, case):
    page = pages_without_javascript(case.login)
    response = page.goto(case.address(world))
    assert response is not None
    assert response.status == case.status
    if case.route not in IN_LANGUAGE_OF_EMAIL:
        assert page.evaluate("document.documentElement.lang") == "pl"
    all_faults = list(faults_of_axe(page, [(PHONE, "dark", ALL_RULES)]))
    page.evaluate(OPEN_ALL, "details")
    all_faults += page.evaluate(OVERFLOWING)
    assert all_faults == [], "\n\n".join(all_faults)


class Window:
    def __init__(self, context: BrowserContext):
        self.page = context.new_page()
        # Transfer sizes and URLs of the current page, by request.
        self.weight: dict[str, float] = {}
        self.urls: dict[str, str] = {}
        client = context.new_cdp_session(self.page)
        client.send("Network.enable")
        # Measure the transfer sizes of a first visit.
        client.send("Network.setCacheDisabled", {"cacheDisabled": True})
        client.on(
            "Network.requestWillBeSent",
            lambda event: self.urls.update({event["requestId"]: event["request"]["url"]}),
        )
        client.on(
            "Network.loadingFinished",
            lambda event: self.weight.update({event["requestId"]: event["encodedDataLength"]}),
        )

    def visit(self, address: str) -> Response | None:
        self.page.set_viewport_size({"width": WIDE, "height": 800})
        self.page.emulate_media(color_scheme="light")
        self.weight.clear()
        self.urls.clear()
        response = self.page.goto(address)
        urls = {response.url, *self.page.evaluate(RESOURCES)}
        # Chromium reports transfer sizes with a delay.
        wait_until(self.page, lambda: urls <= self.received, lambda: f"of {urls} only {self.received} were received")
        return response

    @property
    def received(self) -> set[str]:
        return {self.urls[id] for id in self.weight if id in self.urls}


RESOURCES = (
    "[...document.querySelectorAll('link[rel=stylesheet], script[src]')].map((element) => element.href || element.src)"
)
OPEN_ALL = "(kind) => document.querySelectorAll(kind).forEach((element) => { element.open = true; })"

# Names

# Return the ids that several elements have, and the searches without a name on a page with several ones.
FAULTS_OF_NAMES = """() => {
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  const repeated = [...new Set(ids.filter((id, place) => ids.indexOf(id) !== place))];
  const searches = [...document.querySelectorAll("[role=search], search")].filter((element) => element.checkVisibility());
  const unnamed = searches.filter((element) => !element.ariaLabel && !element.hasAttribute("aria-labelledby"));
  return [
    ...repeated.map((id) => `several elements have the id ${id}`),
    ...(searches.length > 1 ? unnamed : []).map((element) => `a search without a name: ${element.outerHTML.slice(0, 120)}`),
  ];
}"""

# The keyboard

FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex='0']"
# The elements outside of <main>: their names, classes and texts.
FRAME = """(stops) => [...document.querySelectorAll(stops)]
  .filter((element) => !element.closest("main"))
  .map((element) => [element.localName, element.className, element.textContent.trim()].join(" "))
  .join("\\n")"""
# Number the elements that Tab should reach, with one radio button of each group, and record each element that gets the focus,
# with whether it has an outline and is in view.
RECORD_FOCUS = """([part, stops]) => {
  const groups = new Set();
  const wanted = [...document.querySelector(part).querySelectorAll(stops)]
    .filter((element) => element.checkVisibility({ visibilityProperty: true }) && !element.disabled && element.tabIndex >= 0)
    .filter((element) => element.type !== "radio" || !groups.has(element.name) && groups.add(element.name))
    .map((element, number) => {
      element.dataset.number = number;
      if (element.type === "radio") document.getElementsByName(element.name).forEach((each) => { each.dataset.number = number; });
      return element.outerHTML.slice(0, 120);
    });
  window.reached = new Map();
  document.addEventListener("keyup", () => {
    const element = document.activeElement, { number } = element.dataset;
    if (number === undefined) return;
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    const outlined = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
    window.reached.set(Number(number), outlined && box.width > 0 && box.bottom > 0 && box.top < innerHeight);
  });
  return wanted;
}"""


def faults_of_keyboard(page: Page, frames: set[str]) -> Iterator[str]:
    """Return elements that Tab does not reach. Check only <main> if the frame of the page was checked before."""
    page.evaluate(OPEN_ALL, "details")
    frame, part = page.evaluate(FRAME, FOCUSABLE), "html"
    if frame in frames:
        part = "main"
        page.locator(part).focus()
    frames.add(frame)
    focusable = page.evaluate(RECORD_FOCUS, [part, FOCUSABLE])
    # One round from any start; the document itself is a stop too. The parts of a date and the button of its calendar are stops.
    kinds = ", ".join(f"input[type={kind}]" for kind in ("date", "datetime-local", "month", "time"))
    dates = page.locator(f"{part} :is({kinds})").count()
    for _ in range(len(focusable) + 3 + 6 * dates):
        page.keyboard.press("Tab")
    reached = dict(page.evaluate("[...window.reached]"))
    for number, html in enumerate(focusable):
        if number not in reached:
            yield f"Tab does not reach {html}"
        elif not reached[number]:
            yield f"the focus is not visible on {html}"


# axe

# Rules whose result depends on the width or the theme. All rules take long, so they run for the first layout only.
RULES_BY_LAYOUT = {
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
COLOR_RULES = {"type": "rule", "values": ["color-contrast"]}
LAYOUTS = [(WIDE, "light", ALL_RULES), (WIDE, "dark", COLOR_RULES), (NARROW, "dark", RULES_BY_LAYOUT)]

# Overflow

# Return the elements that overflow the page.
OVERFLOWING = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  return [...document.querySelectorAll("body *")]
    .filter((element) => element.getBoundingClientRect().right > width + 1)
    .map((element) => element.outerHTML.slice(0, 120));
}"""


# Return the open menus that are outside of the window at the left or the right.
CUT_OFF = """() => [...document.querySelectorAll("details.menu[open] > .items")]
  .filter((items) => items.checkVisibility())
  .filter((items) => items.getBoundingClientRect().left < -1 || items.getBoundingClientRect().right > innerWidth + 1)
  .map((items) => items.parentElement.outerHTML.slice(0, 120))"""


def faults_of_overflow(page: Page) -> Iterator[str]:
    """Return the elements that make the page scroll horizontally, with all menus open."""
    page.evaluate(OPEN_ALL, "details")
    for width, size in ((NARROW, "100%"), (2 * NARROW, "200%"), (WIDE, "200%")):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate("(size) => { document.documentElement.style.fontSize = size; }", size)
        yield from (f"{width} px, text of {size}: overflows: {html}" for html in page.evaluate(OVERFLOWING))
        if width == NARROW:
            yield from (f"{width} px: a menu is cut off: {html}" for html in page.evaluate(CUT_OFF))
