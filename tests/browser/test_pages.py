"""Every page in a browser: axe, small screens, large text, the keyboard, and clicks in menus."""

from collections.abc import Iterator
from functools import cache
from itertools import groupby

import pytest
from django.urls import get_resolver
from playwright.sync_api import Page

from tests.support.axe import faults_of_axe
from tests.support.every_page import PAGES, PageCase
from tests.support.menus import faults_of_menus
from tests.support.page_routes import page_class

WIDE, NARROW = 1200, 320
LAYOUTS = [(WIDE, "light"), (NARROW, "dark")]

pytestmark = pytest.mark.django_db


def section(case: PageCase) -> str:
    """Return the part of the interface: `posts` for /app/posts/new and `account/users` for /app/account/users/1."""
    parts = (case.route or "").removeprefix("app/").split("/")
    return "/".join(parts[:2] if parts[0] == "account" else parts[:1]) or "home"


SECTIONS = {name: list(cases) for name, cases in groupby(sorted(PAGES, key=section), key=section)}


def by_template() -> dict[str, list[PageCase]]:
    pages = {str(pattern.pattern): page_class(pattern) for pattern in get_resolver().url_patterns}
    cases: dict[str, list[PageCase]] = {}
    for case in PAGES:
        page = pages.get(case.route or "")
        cases.setdefault(page.template_name if page else "core/pages/error.html", []).append(case)
    return cases


# The pages of a template, and the templates, have the layouts in turn.
LAYOUT_OF = {
    case: LAYOUTS[(number + place) % len(LAYOUTS)]
    for number, cases in enumerate(by_template().values())
    for place, case in enumerate(cases)
}
# axe and pressing Tab take long, so they are done once for each template, and where a step has shown more.
CHECKED_FULLY = {cases[0] for cases in by_template().values()} | {case for case in PAGES if case.prepare}


class Walk:
    """The windows of a module, and what was already checked in them."""

    def __init__(self, world, open_context):
        self.world = world
        self.frames: set[str] = set()
        self.frames_with_layout: set[tuple[str, int, str]] = set()
        self.menus: set[str] = set()
        self.window = cache(
            lambda login, language: open_context(secret=world.sessions.get(login, ""), language=language).new_page()
        )

    def faults_of(self, case: PageCase) -> Iterator[str]:
        # Polish texts are longer. The steps that prepare a page are written in English.
        page = self.window(case.login, "en" if case.prepare else "pl")
        width, theme = LAYOUT_OF[case]
        page.set_viewport_size({"width": WIDE, "height": 800})
        page.emulate_media(color_scheme=theme)
        response = page.goto(case.address(self.world))
        if response is None or response.status != case.status:
            yield f"the status is {response and response.status}"
            return
        if case.prepare:
            case.prepare(page)
            # On a new page, scripts move the focus once it is complete.
            page.wait_for_load_state()
        yield from page.evaluate(FAULTS_OF_NAMES)
        page.evaluate(SKIP_REPEATED, REPEATED)
        if case in CHECKED_FULLY:
            yield from faults_of_keyboard(page, self.frames)
        yield from faults_of_menus(page, self.menus)
        page.set_viewport_size({"width": width, "height": 800})
        if case in CHECKED_FULLY:
            frame = (page.evaluate(FRAME, FOCUSABLE), width, theme)
            if frame in self.frames_with_layout:
                page.evaluate(SKIP_FRAME)
            self.frames_with_layout.add(frame)
            yield from faults_of_axe(page)
        yield from faults_of_overflow(page)


@pytest.fixture(scope="module")
def walk(world, open_context) -> Walk:
    return Walk(world, open_context)


@pytest.mark.parametrize("name", SECTIONS)
def test_pages_are_accessible(walk, faults, name):
    found = [f"{case}: {fault}" for case in SECTIONS[name] if case in CHECKED_FULLY for fault in walk.faults_of(case)]
    assert found == [], "\n\n".join(found)


@pytest.mark.soak
def test_other_states_of_pages_are_accessible(walk, faults):
    """Check the names, menus and widths of the other pages of a template."""
    found = [f"{case}: {fault}" for case in PAGES if case not in CHECKED_FULLY for fault in walk.faults_of(case)]
    assert found == [], "\n\n".join(found)


# The pages of the API repeat a part for each of the 180 operations or for each field. The first three are checked with the keyboard
# and axe. Ids and overflow are checked in all.
REPEATED = ", ".join(
    f":nth-child(n + 4 of {part})"
    for part in (
        ".operations > div",
        ".operations li",
        ".docs nav > a",
        "details.example",
        ".reference > section.operation",
        ".reference > section:not(.operation)",
        ".reference tbody",
        ".reference tr",
    )
)
# Neither Tab nor axe enters what is inert.
SKIP_REPEATED = "(repeated) => document.querySelectorAll(repeated).forEach((element) => { element.inert = true; })"

# Make everything outside of <main> inert, for a frame that was checked on another page.
SKIP_FRAME = """() => {
  for (let element = document.querySelector("main"); element !== document.body; element = element.parentElement) {
    for (const other of element.parentElement.children) other.inert = other.inert || other !== element;
  }
}"""

# A menu that opens may move the focus in a later task.
OPEN_ALL = """(kind) => {
  document.querySelectorAll(kind).forEach((element) => { element.open = true; });
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}"""

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
# Let Tab begin at the start of an element.
FOCUS_START = """(part) => {
  const element = document.querySelector(part);
  element.tabIndex = -1;
  element.focus();
}"""
# Number the elements that Tab should reach, with one radio button of each group, and record each element that gets the focus,
# with whether it has an outline and is in view.
RECORD_FOCUS = """([part, stops]) => {
  const groups = new Set();
  const wanted = [...document.querySelector(part).querySelectorAll(stops)]
    .filter((element) => element.checkVisibility({ visibilityProperty: true }) && !element.disabled && element.tabIndex >= 0)
    .filter((element) => !element.closest("[inert]"))
    .filter((element) => element.type !== "radio" || !groups.has(element.name) && groups.add(element.name))
    .map((element, number) => {
      const group = element.type === "radio" ? document.getElementsByName(element.name) : [element];
      for (const each of group) if (each.type === element.type) each.dataset.number = number;
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
    frames.add(frame)
    # A form with an error, for example, has the focus elsewhere.
    page.evaluate(FOCUS_START, part)
    focusable = page.evaluate(RECORD_FOCUS, [part, FOCUSABLE])
    # One round; the document itself is a stop too. The parts of a date and the button of its calendar are stops.
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
